#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "loop/worker.h"
#include "pod/pod.h"
#include "pod/status.h"
#include "runtime/container_runtime.h"

namespace tenon::kubelet {

/// What must survive the kubelet about one pod.
struct PodRecord {
  pod::Pod pod;
  pod::PodStatus status;
  base::WallTime created{};
  bool deleting = false;  ///< Somebody asked for its end.
  /// Container → what the runtime has made of it. Written before its program starts, so that of a
  /// container that is not here nothing runs.
  std::map<std::string, runtime::ContainerIdentity> processes;
  bool operator==(const PodRecord&) const = default;
};

/// A pod directory whose record cannot be read, and what may still run for it.
struct Orphan {
  std::string uid;
  std::vector<std::string> containers;
  std::string why;
};

/// The pods on disk: DIR/UID/record.json, and a directory for each container with its bundle and
/// its output. Thread: loop only; records are written by the worker.
class PodStore final {
 public:
  using Done = std::function<void(Result<void>)>;
  struct Loaded {
    std::vector<PodRecord> records;  ///< In the order of their creation.
    std::vector<Orphan> orphans;
  };

  PodStore(loop::Worker& worker, std::string directory);
  PodStore(const PodStore&) = delete;
  PodStore& operator=(const PodStore&) = delete;

  /// Blocks; for the start only. Errors: the directory cannot be made or listed.
  Result<Loaded> Load();

  /// Replaces the pod's record. `done` runs in a later turn, once it is durable or cannot be; not
  /// after this is destroyed.
  void Save(const PodRecord& record, Done done);
  /// Removes the pod's directory; `done` as above.
  void Remove(const std::string& uid, Done done);

  std::string ContainerDirectory(const std::string& uid, const std::string& container) const;
  /// What the container writes to its standard output and error.
  std::string OutputPath(const std::string& uid, const std::string& container) const;

 private:
  /// Runs `job` on the worker and `done` on the loop, unless this is gone by then.
  void Submit(std::function<Result<void>()> job, Done done);

  loop::Worker& worker_;
  const std::string directory_;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

/// The text of record.json and back. Errors: kDataLoss or kInvalidArgument, saying what is wrong.
std::string EncodeRecord(const PodRecord& record);
Result<PodRecord> DecodeRecord(std::string_view text);

}  // namespace tenon::kubelet
