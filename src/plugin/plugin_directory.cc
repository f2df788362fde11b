#include "plugin/plugin_directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "base/errno_error.h"
#include "base/strings.h"
#include "device/plugin_api.h"

namespace tenon::plugin {

PluginDirectory::PluginDirectory(const Options& options, loop::TimerQueue& timers,
                                 host::FileWatch* watch, std::string path)
    : options_(options), timers_(timers), watch_(watch), path_(std::move(path)) {}

void PluginDirectory::OnHint(std::function<void()> hint) {
  hint_ = std::move(hint);
  SchedulePoll();
  Look();
}

/// Makes `pinned` stand for what is at `path` now, under its old number if it is the same file.
Result<void> PluginDirectory::Pin(const std::string& path, int flags, Pinned& pinned) {
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) {
    Error error = base::ErrnoError("stat", path);
    pinned = {};
    return error;
  }
  if (pinned.number != 0 && pinned.device == now.st_dev && pinned.inode == now.st_ino) return {};
  pinned = {};
  base::UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC | flags));
  // Between stat and open the file may have been replaced: what was opened counts.
  if (!fd.valid() || ::fstat(fd.get(), &now) != 0) return base::ErrnoError("open", path);
  pinned.fd = std::move(fd);
  pinned.device = now.st_dev;
  pinned.inode = now.st_ino;
  pinned.number = next_number_++;
  return {};
}

DirectoryView PluginDirectory::Look() {
  DirectoryView view;
  if (auto pinned = Pin(path_, O_DIRECTORY, directory_); !pinned)
    view.trouble = std::move(pinned).error().message();
  if (watched_ != directory_.number) WatchAnew();
  if (hint_ && PollDelay() != poll_delay_) SchedulePoll();
  struct stat now {};
  deleted_ = directory_.number != 0 && ::fstat(directory_.fd.get(), &now) == 0 && now.st_nlink == 0;
  if (deleted_) view.trouble = path_ + " leads to a deleted directory";
  if (directory_.number == 0 || deleted_) {
    kubelet_socket_ = {};
    return view;
  }
  view.directory = directory_.number;
  const bool had_socket = kubelet_socket_.number != 0;
  auto pinned = Pin(base::JoinPath(path_, api::kKubeletSocketName), 0, kubelet_socket_);
  if (pinned) view.kubelet_socket = kubelet_socket_.number;
  if (!pinned && had_socket) ScheduleSecondLook();
  return view;
}

void PluginDirectory::WatchAnew() {
  directory_watch_.reset();
  watched_ = directory_.number;
  if (watch_ == nullptr || directory_.number == 0) return;
  auto watch = watch_->Watch(path_, [this](const std::string&, bool gone) {
    if (gone) watched_ = 0;  // The next Look() watches what is at the path by then.
    ScheduleHint();
  });
  // Without a watch the poll is quicker instead.
  if (watch) directory_watch_ = *std::move(watch);
}

void PluginDirectory::ScheduleHint() {
  if (hint_timer_.pending()) return;
  hint_timer_ = timers_.After(base::Duration::zero(), [this] {
    if (kubelet_socket_.number == 0) ScheduleSecondLook();
    hint_();
  });
}

void PluginDirectory::ScheduleSecondLook() {
  if (hint_) second_look_timer_ = timers_.After(options_.second_look, [this] { hint_(); });
}

base::Duration PluginDirectory::PollDelay() const {
  if (directory_.number == 0) return options_.missing_poll;
  return directory_watch_ ? options_.poll : options_.blind_poll;
}

void PluginDirectory::SchedulePoll() {
  poll_delay_ = PollDelay();
  // At multiples of the period, as discovery does, so that all polls wake the process once.
  const base::Duration into_period = timers_.now().time_since_epoch() % poll_delay_;
  poll_timer_ = timers_.After(poll_delay_ - into_period, [this] {
    SchedulePoll();
    hint_();
  });
}

}  // namespace tenon::plugin
