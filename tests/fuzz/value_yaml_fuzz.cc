// Reads anything as YAML. All that is accepted must be UTF-8 with a place in the text, and be
// written as JSON that reads back the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/strings.h"
#include "value/value.h"

namespace {

bool HasPlace(tenon::Mark mark, size_t bytes) {
  return mark.line >= 1 && mark.column >= 1 &&
         static_cast<size_t>(mark.line + mark.column) <= bytes + 3;
}

void CheckTree(const tenon::Value& value, size_t bytes) {
  TENON_CHECK(HasPlace(value.mark(), bytes));
  TENON_CHECK(tenon::base::IsValidUtf8(value.text()));
  for (const tenon::Value& item : value.items())
    CheckTree(item, bytes);
  for (const tenon::Value::Member& member : value.members()) {
    TENON_CHECK(HasPlace(member.key_mark, bytes));
    TENON_CHECK(tenon::base::IsValidUtf8(member.key));
    CheckTree(member.value, bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto documents = tenon::ParseYaml(text, "fuzz", {.values = 10'000});
  if (!documents) {
    TENON_CHECK(documents.error().message().starts_with("fuzz:"));
    return 0;
  }
  for (const tenon::Value& document : *documents) {
    CheckTree(document, size);
    const std::string written = ToJson(document);
    const auto again = tenon::ParseJson(written, "again");
    TENON_CHECK(again && ToJson(*again) == written);
  }
  return 0;
}
