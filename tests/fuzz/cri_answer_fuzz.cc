// Reads anything as each of the answers of a CRI runtime.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "cri/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace cri = tenon::cri;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto id = cri::DecodeId(bytes)) TENON_CHECK(!id->empty());
  (void)cri::DecodeVersion(bytes);
  (void)cri::DecodeListContainers(bytes);
  (void)cri::DecodeListPodSandbox(bytes);
  (void)cri::DecodeContainerStatus(bytes);
  (void)cri::DecodeImageStatus(bytes);
  return 0;
}
