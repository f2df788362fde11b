#include "runtime/container_options.h"

#include <array>
#include <string_view>

#include "base/strings.h"

namespace tenon::runtime {
namespace {

constexpr std::array<std::string_view, 9> kOrders = {
    "cdi.k8s.io/",         "io.containerd.", "io.kubernetes.cri",
    "io.katacontainers.",  "io.podman.",     "org.criu.",
    "org.opencontainers.", "org.systemd.",   "run.oci."};

}  // namespace

std::vector<pod::EnvVar> ListVariables(const pod::Container& container,
                                       const ContainerAllocation& allocation) {
  std::vector<pod::EnvVar> own;
  for (const pod::EnvVar& variable : container.env)
    own.push_back({variable.name, pod::ExpandVariables(variable.value, own)});
  std::vector<pod::EnvVar> out;
  for (const auto& [name, value] : allocation.env)
    out.push_back({name, value});
  out.insert(out.end(), own.begin(), own.end());
  return out;
}

Result<void> CheckAnnotations(const ContainerAllocation& allocation) {
  for (const auto& [name, value] : allocation.annotations) {
    for (const std::string_view prefix : kOrders) {
      if (!name.starts_with(prefix)) continue;
      return Error(Code::kInvalidArgument,
                   "annotation " + base::EscapeForLine(name) +
                       ": a plugin must not use this prefix, by which runtimes are given orders");
    }
  }
  return {};
}

}  // namespace tenon::runtime
