#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
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

/// One container to be made.
struct NewContainer {
  std::string id;
  std::string bundle;    ///< Directory with its config.json.
  std::string log_path;  ///< File that gets its output, appended.
};

enum class ContainerPresence {
  kAbsent,   ///< The runtime does not know it.
  kCreated,  ///< Set up, its program not started.
  kRunning,
  kStopped,  ///< Its program has ended.
};

/// Makes and removes containers. Every callback runs once, in a later turn, and may destroy its
/// call. How a container ends is seen by a ProcessWatch on its first process.
/// Thread: loop only. Errors: in the words of the runtime.
class ContainerRuntime {
 public:
  using Call = std::unique_ptr<RuntimeCall>;
  using CreateDone = std::function<void(Result<ProcessIdentity>)>;
  using QueryDone = std::function<void(Result<ContainerPresence>)>;
  using Done = std::function<void(Result<void>)>;

  ContainerRuntime() = default;
  ContainerRuntime(const ContainerRuntime&) = delete;
  ContainerRuntime& operator=(const ContainerRuntime&) = delete;
  virtual ~ContainerRuntime() = default;

  /// Sets a container up; its first process waits to be told to run the program.
  [[nodiscard]] virtual Call Create(const NewContainer& container, CreateDone done) = 0;
  [[nodiscard]] virtual Call Start(const std::string& id, Done done) = 0;
  /// Kills what still runs in it and removes what the runtime keeps; fine if it is absent.
  [[nodiscard]] virtual Call Delete(const std::string& id, Done done) = 0;
  [[nodiscard]] virtual Call Query(const std::string& id, QueryDone done) = 0;
};

}  // namespace tenon::runtime
