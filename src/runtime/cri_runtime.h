#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cri/client.h"
#include "cri/messages.h"
#include "host/host.h"
#include "loop/event_loop.h"
#include "runtime/container_runtime.h"
#include "value/value.h"

namespace tenon::runtime {

/// What of a container a CRI runtime is told; `log_path` is relative to the sandbox's directory.
/// The plugin's variables come before the pod's own, which win, as the kubelet orders them.
/// Errors: kInvalidArgument, an annotation by which a plugin would give the runtime orders.
Result<cri::ContainerConfig> BuildCriConfig(const pod::Pod& pod, const pod::Container& container,
                                            const ContainerAllocation& allocation, int attempt,
                                            std::string log_path);

/// The same as JSON with the names of the API.
Value ToValue(const cri::ContainerConfig& config);

/// Containers by a runtime that speaks CRI, as containerd does. Images are those that it has:
/// nothing is pulled. All containers of a pod are in one sandbox, in the network of the machine.
class CriRuntime final : public ContainerRuntime {
 public:
  struct Options {
    std::string socket;
    std::vector<std::string> cdi_directories;
  };

  /// Asks the runtime who it is; runs the loop meanwhile. `loop` and `machine` must outlive it.
  /// Errors: kFailedPrecondition, no CRI runtime answers there.
  static Result<std::unique_ptr<CriRuntime>> Connect(loop::EventLoop& loop, host::Host& machine,
                                                     Options options);

  Call Create(const NewContainer& container, CreateDone done) override;
  Call Start(const ContainerIdentity& container, Done done) override;
  Call Delete(const std::string& id, Done done) override;
  Call Query(const ContainerIdentity& container, QueryDone done) override;
  Call RemovePod(const std::string& uid, Done done) override;
  Result<std::unique_ptr<ContainerWatch>> Watch(const ContainerIdentity& container,
                                                ExitFn exited) override;

 private:
  friend class CriCreate;

  CriRuntime(loop::EventLoop& loop, host::Host& machine, Options options)
      : loop_(loop),
        machine_(machine),
        options_(std::move(options)),
        client_(loop, options_.socket) {}
  /// What is not in CRI: names that this runtime does not know are looked up here.
  Result<void> ResolveCdi(cri::ContainerConfig& config) const;

  loop::EventLoop& loop_;
  host::Host& machine_;
  const Options options_;
  cri::Client client_;
  std::string name_;        ///< "containerd".
  bool knows_cdi_ = false;  ///< It looks CDI names up itself.
  /// Pods whose sandbox is being made: others wait while the token lives.
  std::map<std::string, std::weak_ptr<const bool>> making_;
};

}  // namespace tenon::runtime
