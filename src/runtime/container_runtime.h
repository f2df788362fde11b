#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "device/allocation.h"
#include "pod/pod.h"
#include "runtime/process_watch.h"

namespace tenon::runtime {

/// Owns one call to the container runtime: destroying it ends the call where it is, and after that
/// its callback never runs.
class RuntimeCall {
 public:
  RuntimeCall() = default;
  RuntimeCall(const RuntimeCall&) = delete;
  RuntimeCall& operator=(const RuntimeCall&) = delete;
  virtual ~RuntimeCall() = default;
};

/// One container to be made. What it refers to is used during the call only.
struct NewContainer {
  std::string id;  ///< What we call it, "POD-UID.CONTAINER", each time that it is made.
  const pod::Pod& pod;
  const pod::Container& container;
  const ContainerAllocation& allocation;
  int attempt = 0;        ///< How often it was started before.
  std::string directory;  ///< Where the runtime may make directories; it is there.
  std::string log_path;   ///< File that gets its output, appended.
};

/// How a container is found again after a restart of the kubelet; written down before its program
/// is started.
struct ContainerIdentity {
  std::string name;         ///< What the runtime calls it, "runc://ID": the status' containerID.
  ProcessIdentity process;  ///< Its first process, if we have to watch it ourselves.
  bool operator==(const ContainerIdentity&) const = default;
};

/// What the runtime itself calls the container; empty if the name is none of a container.
inline std::string RuntimeId(const ContainerIdentity& container) {
  const size_t slashes = container.name.find("://");
  return slashes == std::string::npos ? "" : container.name.substr(slashes + 3);
}

/// How a container ended.
struct ContainerExit {
  std::optional<int> exit_code;  ///< 128 + signal after a signal; nullopt when nobody has seen it.
  int signal = 0;                ///< 0 also when the runtime does not tell.
  std::string reason;            ///< "OOMKilled"; empty where the code says it all.
  std::string message;
};

/// Watches one container; destroying it leaves the container alone. Thread: loop only.
class ContainerWatch {
 public:
  ContainerWatch() = default;
  ContainerWatch(const ContainerWatch&) = delete;
  ContainerWatch& operator=(const ContainerWatch&) = delete;
  virtual ~ContainerWatch() = default;

  /// Tells the container to end; it may take its time. Does nothing once it has.
  virtual void Terminate() = 0;
  /// Ends it.
  virtual void Kill() = 0;
};

enum class ContainerPresence {
  kAbsent,   ///< The runtime does not know it.
  kCreated,  ///< Set up, its program not started.
  kRunning,
  kStopped,  ///< Its program has ended.
};

/// Makes and removes containers. Every callback runs once, in a later turn, and may destroy its
/// call. Each container that is made has an identity of its own: what a kubelet that was killed
/// has begun cannot touch what the next one makes. Thread: loop only. Errors: in the words of the
/// runtime.
class ContainerRuntime {
 public:
  using Call = std::unique_ptr<RuntimeCall>;
  using CreateDone = std::function<void(Result<ContainerIdentity>)>;
  using QueryDone = std::function<void(Result<ContainerPresence>)>;
  using Done = std::function<void(Result<void>)>;
  using ExitFn = std::function<void(ContainerExit)>;

  ContainerRuntime() = default;
  ContainerRuntime(const ContainerRuntime&) = delete;
  ContainerRuntime& operator=(const ContainerRuntime&) = delete;
  virtual ~ContainerRuntime() = default;

  /// Sets a container up, its program not started. Errors that somebody can mend, so that another
  /// try may succeed: kNotFound, its image is not there; kInvalidArgument, it cannot be given what
  /// it should have; kUnavailable, the runtime does not do it now. All others are final.
  [[nodiscard]] virtual Call Create(const NewContainer& container, CreateDone done) = 0;
  [[nodiscard]] virtual Call Start(const ContainerIdentity& container, Done done) = 0;
  /// Removes everything that was ever made under this id of ours and kills what still runs of it;
  /// fine if there is nothing.
  [[nodiscard]] virtual Call Delete(const std::string& id, Done done) = 0;
  [[nodiscard]] virtual Call Query(const ContainerIdentity& container, QueryDone done) = 0;
  /// Removes what the containers of a pod share. Requires: none of them is left.
  [[nodiscard]] virtual Call RemovePod(const std::string& uid, Done done) = 0;

  /// Watches a container that was created, also one of an earlier kubelet. `exited` runs once, in
  /// a later turn, at once for one that has ended. Errors: kNotFound, it has ended and nothing
  /// more can be learnt.
  virtual Result<std::unique_ptr<ContainerWatch>> Watch(const ContainerIdentity& container,
                                                        ExitFn exited) = 0;
};

}  // namespace tenon::runtime
