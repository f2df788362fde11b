#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "loop/timer_queue.h"
#include "loop/worker.h"

namespace tenon::manager {

/// Where the checkpoint is kept. Thread: loop only.
class CheckpointFile {
 public:
  using Done = std::function<void(Result<void>)>;

  CheckpointFile() = default;
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;
  virtual ~CheckpointFile() = default;

  /// nullopt: there is no file. Blocks; for the start only: also removes what writes that were cut
  /// short have left.
  virtual Result<std::optional<std::string>> Read() = 0;
  /// Moves the file out of the way, "NAME.corrupt-1"; returns the path that it has then. Blocks.
  virtual Result<std::string> SetAside() = 0;
  /// Replaces the file's content. `done` runs in a later turn, when it is durable or cannot be, and
  /// maybe after this is destroyed.
  virtual void Write(std::string content, Done done) = 0;
};

/// The file in a device plugin directory, written by the worker.
class DiskCheckpointFile final : public CheckpointFile {
 public:
  DiskCheckpointFile(loop::Worker& worker, const std::string& directory);

  Result<std::optional<std::string>> Read() override;
  Result<std::string> SetAside() override;
  void Write(std::string content, Done done) override;

 private:
  Result<void> RemoveLeftovers() const;

  loop::Worker& worker_;
  const std::string directory_;
  const std::string path_;
};

/// Keeps the checkpoint in step with the state: one write at a time, each of the whole state as it
/// is when the write starts, so that an older state never overwrites a newer one. All that ask
/// while a write is under way share the next one. After a failure, of which those who asked are
/// told, it tries again now and then, so that the file is right as soon as it can be.
/// Thread: loop only.
class CheckpointStore final {
 public:
  /// Gives the text of the state as it is.
  using Encode = std::function<std::string()>;
  static constexpr base::Duration kRetryDelay = std::chrono::seconds(10);

  CheckpointStore(loop::TimerQueue& timers, CheckpointFile& file, Encode encode)
      : timers_(timers), file_(file), encode_(std::move(encode)) {}
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;
  /// Starts the write that is still owed, if any; nobody is told how it ends.
  /// Requires: `encode` still works.
  ~CheckpointStore();

  /// `done` runs once the state of this moment, or a newer one, is durable or could not be made
  /// so; it may change the state but not destroy the store. Errors: as the kubelet words them.
  void Save(CheckpointFile::Done done);

 private:
  void StartWrite();
  void OnWritten(const Result<void>& result);

  loop::TimerQueue& timers_;
  CheckpointFile& file_;
  const Encode encode_;
  /// Expires with this object: a write may end later.
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  bool writing_ = false;
  std::vector<CheckpointFile::Done> served_;   ///< By the write under way.
  std::vector<CheckpointFile::Done> waiting_;  ///< For the next one.
  loop::TimerHandle retry_;
};

}  // namespace tenon::manager
