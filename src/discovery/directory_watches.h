#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/log.h"
#include "host/file_watch.h"
#include "host/host.h"

namespace tenon::discovery {

/// Keeps the directories watched that a scan passed through.
///
/// Thread: loop only.
class DirectoryWatches final {
 public:
  /// Something happened to `name` in `directory`, a real path. An empty name: to anything, maybe
  /// to the directory itself. Must not destroy the watches.
  using ChangedFn = std::function<void(const std::string& directory, const std::string& name)>;

  /// `files` may be null: then nothing is watched.
  DirectoryWatches(host::Host& host, host::FileWatch* files, base::Log& log, ChangedFn changed)
      : host_(host), files_(files), log_(log), changed_(std::move(changed)) {}
  DirectoryWatches(const DirectoryWatches&) = delete;
  DirectoryWatches& operator=(const DirectoryWatches&) = delete;

  /// Watches these directories (real paths) and no others. A directory that was replaced by
  /// another at the same path is watched anew.
  /// Returns: whether to scan again, as a watch is new, and what came before it was not told, or a
  /// directory is gone already.
  bool Follow(const std::set<std::string>& directories);
  /// Whether every directory of the last Follow() is watched.
  bool complete() const { return complete_; }

 private:
  struct Watched {
    uint64_t device = 0;  ///< With inode: which directory it is that is watched.
    uint64_t inode = 0;
    std::unique_ptr<host::DirectoryWatch> watch;
  };

  bool IsWatched(const std::string& directory, const host::FileStat& file) const;
  Result<void> Watch(const std::string& directory, const host::FileStat& file);
  void OnEvent(const std::string& directory, const std::string& name, bool gone);

  host::Host& host_;
  host::FileWatch* const files_;
  base::Log& log_;
  const ChangedFn changed_;
  std::map<std::string, Watched> watched_;
  bool complete_ = true;
};

}  // namespace tenon::discovery
