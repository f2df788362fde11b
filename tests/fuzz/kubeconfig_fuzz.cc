// Reads anything as a kubeconfig. What is accepted leads to a server that may be talked to.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "kubeapi/access.h"
#include "kubeapi/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto access = tenon::kubeapi::ParseKubeconfig(text, "/etc/fuzz");
  if (!access) return 0;
  TENON_CHECK(tenon::kubeapi::ParseServerUrl(access->server));
  TENON_CHECK(access->certificate.empty() == access->key.empty());
  for (const auto* secret :
       {&access->authority, &access->certificate, &access->key, &access->token})
    TENON_CHECK(secret->path.empty() || secret->path.starts_with('/'));
  return 0;
}
