// Reads anything as pod manifests. A manifest that is accepted must read back as the same pods
// from what the API shows of them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "pod/manifest.h"
#include "pod/status.h"
#include "value/value.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto uid = [] { return std::string("uid"); };
  const tenon::pod::Manifest manifest = tenon::pod::ParseManifest(text, "fuzz", uid);
  TENON_CHECK(manifest.pods.empty() != manifest.problems.empty());
  for (const tenon::pod::Pod& pod : manifest.pods) {
    const tenon::pod::Manifest again =
        tenon::pod::ParseManifest(ToJson(tenon::pod::ToValue(pod)), "again", uid);
    TENON_CHECK(again.pods.size() == 1 && again.pods[0] == pod);
  }
  return 0;
}
