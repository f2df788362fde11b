// Reads anything as JSON. What is accepted must be written as JSON that reads back the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/strings.h"
#include "value/value.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto value = tenon::ParseJson(text, "fuzz");
  if (!value) {
    TENON_CHECK(value.error().message().starts_with("fuzz:"));
    return 0;
  }
  const std::string written = ToJson(*value);
  TENON_CHECK(tenon::base::IsValidUtf8(written));
  const auto again = tenon::ParseJson(written, "again");
  const auto indented = tenon::ParseJson(ToJson(*value, true), "indented");
  TENON_CHECK(again && ToJson(*again) == written);
  TENON_CHECK(indented && ToJson(*indented) == written);
  return 0;
}
