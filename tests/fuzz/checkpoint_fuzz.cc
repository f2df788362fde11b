// Reads anything as a checkpoint file, and as the content of one whose checksum is then put right:
// otherwise hardly any input would get past the checksum.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "checkpoint/checkpoint.h"

namespace {

using tenon::checkpoint::Checkpoint;
using tenon::checkpoint::Decode;
using tenon::checkpoint::Encode;

void CheckRoundTrip(const Checkpoint& checkpoint) {
  const auto again = Decode(Encode(checkpoint), "again");
  TENON_CHECK(again && *again == checkpoint);
}

std::string FileOf(std::string_view content, std::string_view checksum) {
  return "{\"Data\":" + std::string(content) + ",\"Checksum\":" + std::string(checksum) + "}";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto checkpoint = Decode(text, "fuzz")) CheckRoundTrip(*checkpoint);

  const auto unsummed = Decode(FileOf(text, "-1"), "fuzz");
  TENON_CHECK(!unsummed);
  const std::string_view message = unsummed.error().message();
  constexpr std::string_view kMismatch = "fuzz: checksum is -1, the content's is ";
  if (!message.starts_with(kMismatch)) return 0;
  const auto checkpoint = Decode(FileOf(text, message.substr(kMismatch.size())), "fuzz");
  TENON_CHECK(checkpoint);
  CheckRoundTrip(*checkpoint);
  return 0;
}
