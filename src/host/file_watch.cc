#include "host/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/errno_error.h"
#include "base/unique_fd.h"

namespace tenon::host {
namespace {

constexpr uint32_t kWanted = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |
                             IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
/// After any of these the kernel's watch says nothing more, or nothing about this path.
constexpr uint32_t kEnds = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;
constexpr size_t kBufferBytes = size_t{16} << 10;

/// One watch of ours. The kernel has one watch per directory, whatever paths lead to it, so
/// several of these may stand behind one number.
struct Listener {
  int wd = -1;  ///< -1 once the directory is gone.
  FileWatch::Callback callback;
  bool ended = false;  ///< Its owner has destroyed it.
};
using Listeners = std::vector<std::shared_ptr<Listener>>;

class InotifyWatch final : public FileWatch {
 public:
  InotifyWatch(base::UniqueFd fd, uint32_t wanted) : fd_(std::move(fd)), wanted_(wanted) {}

  Result<void> Start(loop::EventLoop& loop) {
    TENON_TRY(watch_, loop.WatchFd(fd_.get(), loop::kReadable, [this](unsigned) { OnReadable(); }));
    return {};
  }
  Result<std::unique_ptr<DirectoryWatch>> Watch(const std::string& path,
                                                Callback callback) override;
  void Remove(Listener& listener);

 private:
  void OnReadable();
  void Dispatch(const inotify_event& event, const std::string& name);

  const base::UniqueFd fd_;
  const uint32_t wanted_;
  loop::FdWatch watch_;  // After fd_: ends before the descriptor is closed.
  std::map<int, Listeners> listeners_;
  // A callback may destroy this object; gone with it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class InotifyDirectoryWatch final : public DirectoryWatch {
 public:
  InotifyDirectoryWatch(InotifyWatch& owner, std::shared_ptr<Listener> listener)
      : owner_(owner), listener_(std::move(listener)) {}
  ~InotifyDirectoryWatch() override { owner_.Remove(*listener_); }

 private:
  InotifyWatch& owner_;
  const std::shared_ptr<Listener> listener_;
};

Result<std::unique_ptr<DirectoryWatch>> InotifyWatch::Watch(const std::string& path,
                                                            Callback callback) {
  int wd = ::inotify_add_watch(fd_.get(), path.c_str(), wanted_);
  if (wd < 0 && errno == ENOSPC) {
    return Error(Code::kResourceExhausted,
                 "watch " + path + ": no inotify watches left (fs.inotify.max_user_watches)",
                 ENOSPC);
  }
  if (wd < 0) return base::ErrnoError("watch", path);
  auto listener = std::make_shared<Listener>(Listener{wd, std::move(callback)});
  listeners_[wd].push_back(listener);
  return std::unique_ptr<DirectoryWatch>(new InotifyDirectoryWatch(*this, std::move(listener)));
}

void InotifyWatch::Remove(Listener& listener) {
  listener.ended = true;
  auto entry = listeners_.find(listener.wd);
  if (entry == listeners_.end()) return;
  std::erase_if(entry->second, [&](const auto& other) { return other.get() == &listener; });
  if (!entry->second.empty()) return;
  listeners_.erase(entry);
  // What is queued for this number finds no entry: the kernel gives a number out again only
  // after 2^31 others.
  ::inotify_rm_watch(fd_.get(), listener.wd);
}

void InotifyWatch::OnReadable() {
  alignas(inotify_event) std::array<char, kBufferBytes> buffer;
  ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
  std::weak_ptr<bool> alive = alive_;
  for (ssize_t at = 0; at < got && !alive.expired();) {
    inotify_event event{};
    std::memcpy(&event, buffer.data() + at, sizeof event);
    const char* name = buffer.data() + at + sizeof event;
    at += static_cast<ssize_t>(sizeof event + event.len);
    Dispatch(event, event.len == 0 ? "" : name);  // The name is padded with zero bytes.
  }
}

void InotifyWatch::Dispatch(const inotify_event& event, const std::string& name) {
  // Callbacks add and end watches, so go by a copy of what there is.
  Listeners concerned;
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    for (const auto& [wd, some] : listeners_)
      concerned.insert(concerned.end(), some.begin(), some.end());
  } else if (auto entry = listeners_.find(event.wd); entry != listeners_.end()) {
    concerned = entry->second;
  }
  bool gone = (event.mask & kEnds) != 0;
  if (gone && listeners_.erase(event.wd) != 0) {
    for (const auto& listener : concerned)
      listener->wd = -1;
    if ((event.mask & IN_MOVE_SELF) != 0) ::inotify_rm_watch(fd_.get(), event.wd);
  }
  // From here on this object may be gone; then all its listeners have ended.
  for (const auto& listener : concerned)
    if (!listener->ended) listener->callback(name, gone);
}

}  // namespace

Result<std::unique_ptr<FileWatch>> FileWatch::Create(loop::EventLoop& loop, Interest interest) {
  base::UniqueFd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd.valid() && errno == EMFILE) {
    return Error(Code::kResourceExhausted,
                 "inotify_init1: no inotify instances left (fs.inotify.max_user_instances), or no "
                 "descriptors",
                 EMFILE);
  }
  if (!fd.valid()) return base::ErrnoError("inotify_init1", "");
  const uint32_t writes = interest == Interest::kEntriesAndWrites ? IN_CLOSE_WRITE : 0;
  auto self = std::make_unique<InotifyWatch>(std::move(fd), kWanted | writes);
  TENON_TRY_VOID(self->Start(loop));
  return std::unique_ptr<FileWatch>(std::move(self));
}

}  // namespace tenon::host
