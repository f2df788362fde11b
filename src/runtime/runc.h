#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/host.h"
#include "loop/event_loop.h"
#include "process/child.h"
#include "runtime/container_runtime.h"

namespace tenon::runtime {

/// Containers by runc: each call runs the program. Its ids are ours with a random part,
/// "POD-UID.CONTAINER.1f00c0de". The process that calls it must AdoptOrphans(), or it cannot learn
/// the exit codes of containers.
class Runc final : public ContainerRuntime {
 public:
  struct Options {
    std::string program = "/usr/sbin/runc";
    std::string state_dir;  ///< Where runc keeps its state; made when needed.
    std::string image_dir;  ///< Where images are looked for by name: a directory each.
    std::vector<std::string> cdi_directories;  ///< Where CDI names are looked up.
  };

  /// `loop` and `machine`, where devices and mounts come from, must outlive it.
  Runc(loop::EventLoop& loop, host::Host& machine, Options options)
      : loop_(loop), machine_(machine), options_(std::move(options)) {}

  Call Create(const NewContainer& container, CreateDone done) override;
  Call Start(const ContainerIdentity& container, Done done) override;
  Call Delete(const std::string& id, Done done) override;
  Call Query(const ContainerIdentity& container, QueryDone done) override;
  Call RemovePod(const std::string& uid, Done done) override;
  Result<std::unique_ptr<ContainerWatch>> Watch(const ContainerIdentity& container,
                                                ExitFn exited) override;

 private:
  using RanFn = std::function<void(Result<process::ChildExit>)>;
  Call Run(std::vector<std::string> arguments, process::ChildOptions child, RanFn done);
  /// Makes the directory `bundle` with config.json, for the cgroup of this name. Errors: as
  /// Create() has them.
  Result<void> WriteBundle(const NewContainer& container, const std::string& bundle,
                           const std::string& cgroup) const;

  loop::EventLoop& loop_;
  host::Host& machine_;
  const Options options_;
};

/// Whether `program` is a runc that will do; runs the loop meanwhile. Errors: kFailedPrecondition,
/// naming the package to install, when it is missing, older than 1.1 or something else.
Result<void> CheckRunc(loop::EventLoop& loop, const std::string& program);

/// Waits until no runc command that somebody else started is at work on the containers of
/// `state_dir`: a `tenon kubelet` that was killed leaves one behind, and a late "create" makes a
/// container that nobody knows of and that waits for ever to be started. Runs the loop. Requires:
/// whoever starts such commands has been stopped. Errors: kDeadlineExceeded, naming the process, if
/// it takes longer than `limit`.
Result<void> AwaitOtherCommands(loop::EventLoop& loop, const std::string& state_dir,
                                base::Duration limit = std::chrono::seconds(10));

/// "/tenon/POD-UID": the cgroup above those of the pod's containers.
std::string CgroupOf(const std::string& pod_uid);

/// Removes the cgroup `path`, "/tenon/<pod uid>", and then "/tenon", from every hierarchy where
/// they are empty. Containers' own cgroups are removed by runc, unless it was killed; those above
/// them by nobody.
void RemoveEmptyCgroups(const std::string& path);

}  // namespace tenon::runtime
