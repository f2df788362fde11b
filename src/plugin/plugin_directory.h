#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "host/file_watch.h"
#include "loop/timer_queue.h"
#include "plugin/ports.h"

namespace tenon::plugin {

/// The device-plugin directory of this machine, by inotify with a slow poll behind it.
///
/// It keeps an O_PATH descriptor of the directory and of kubelet.sock. As long as it does, their
/// inode numbers cannot be reused, so a successor is told from its predecessor even where a file
/// system hands the freed number out at once. Thread: loop only.
class PluginDirectory final : public KubeletDirectory {
 public:
  struct Options {
    base::Duration poll = std::chrono::seconds(60);         ///< While inotify tells us.
    base::Duration blind_poll = std::chrono::seconds(2);    ///< Without it.
    base::Duration missing_poll = std::chrono::seconds(1);  ///< For a missing directory to come.
    /// After kubelet.sock went. Of a directory that is removed inotify tells the end of its files,
    /// but not its own as long as somebody has it open, as a mount has.
    base::Duration second_look = std::chrono::seconds(1);
  };

  /// `watch` may be null where inotify cannot be had; it must outlive the directory.
  PluginDirectory(const Options& options, loop::TimerQueue& timers, host::FileWatch* watch,
                  std::string path);

  /// `hint` runs after something may have changed: once for a burst of events, with each poll, and
  /// for a second look.
  void OnHint(std::function<void()> hint);

  DirectoryView Look() override;

  /// Whether the path leads to a directory that has been deleted, as a bind mount of a directory
  /// that was made anew on the host does. It will never hold a file again: only a new mount, that
  /// is a new process, mends it. As of the last Look().
  bool deleted() const { return deleted_; }
  const std::string& path() const { return path_; }

 private:
  /// One file whose inode is kept from being reused.
  struct Pinned {
    base::UniqueFd fd;
    uint64_t number = 0;  ///< 0: not there.
    dev_t device = 0;
    ino_t inode = 0;
  };

  Result<void> Pin(const std::string& path, int flags, Pinned& pinned);
  void WatchAnew();
  void ScheduleHint();
  void ScheduleSecondLook();
  base::Duration PollDelay() const;
  void SchedulePoll();

  const Options options_;
  loop::TimerQueue& timers_;
  host::FileWatch* const watch_;
  const std::string path_;
  std::function<void()> hint_;
  uint64_t next_number_ = 1;
  Pinned directory_;
  Pinned kubelet_socket_;
  bool deleted_ = false;
  uint64_t watched_ = 0;  ///< Number of the directory that directory_watch_ is on.
  std::unique_ptr<host::DirectoryWatch> directory_watch_;
  base::Duration poll_delay_{};
  loop::TimerHandle hint_timer_;
  loop::TimerHandle second_look_timer_;
  loop::TimerHandle poll_timer_;
};

}  // namespace tenon::plugin
