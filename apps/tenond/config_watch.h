#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "host/file_watch.h"
#include "loop/event_loop.h"

namespace tenon::tenond {

/// Tells when the configuration file is another one or was written to: by inotify on its
/// directory, which also sees a ConfigMap's "..data" link being swapped, and by Check() now and
/// then behind it. Thread: loop only.
class ConfigWatch final {
 public:
  /// `on_change` runs once the file has been left alone for a moment.
  ConfigWatch(loop::EventLoop& loop, std::string path, std::function<void()> on_change);
  ConfigWatch(const ConfigWatch&) = delete;
  ConfigWatch& operator=(const ConfigWatch&) = delete;

  /// Looks whether the file has changed; cheap.
  void Check();

 private:
  /// What tells one state of the file from another without reading it.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    int64_t written_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  Stamp Look() const;
  void WatchDirectory();

  loop::EventLoop& loop_;
  const std::string path_;
  const std::function<void()> on_change_;
  Stamp seen_;
  std::unique_ptr<host::FileWatch> files_;  ///< Null without inotify.
  std::unique_ptr<host::DirectoryWatch> directory_;
  loop::TimerHandle settle_;
};

}  // namespace tenon::tenond
