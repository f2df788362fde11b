#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/file_watch.h"
#include "loop/event_loop.h"

namespace tenon::tenond {

/// Tells when a file of the configuration is another one, was written to, is gone or is new: by
/// inotify on the directories, which also sees a ConfigMap's "..data" link being swapped, and by
/// Check() now and then behind it. Thread: loop only.
class ConfigWatch final {
 public:
  /// `paths` are files, and directories of them. `on_change` runs once all has been left alone for
  /// a moment.
  ConfigWatch(loop::EventLoop& loop, std::vector<std::string> paths,
              std::function<void()> on_change);
  ConfigWatch(const ConfigWatch&) = delete;
  ConfigWatch& operator=(const ConfigWatch&) = delete;

  /// Looks whether anything has changed; cheap.
  void Check();

 private:
  /// What tells one state of a file from another without reading it.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    int64_t written_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::map<std::string, Stamp>;  ///< Of all files there are.

  Stamps Look() const;
  void WatchDirectories();

  loop::EventLoop& loop_;
  const std::vector<std::string> paths_;
  const std::function<void()> on_change_;
  Stamps seen_;
  std::unique_ptr<host::FileWatch> files_;  ///< Null without inotify.
  std::vector<std::unique_ptr<host::DirectoryWatch>> directories_;
  loop::TimerHandle settle_;
};

}  // namespace tenon::tenond
