#include "loop/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "base/check.h"
#include "base/errno_error.h"

namespace tenon::loop {
namespace {

constexpr uint64_t kWakeId = 0;
constexpr int kEventsPerTurn = 64;
/// Ends epoll_wait now and then even with nothing to do, as its timeout is an int of milliseconds.
constexpr base::Duration kLongestWait = std::chrono::hours(1);

uint32_t ToEpoll(unsigned events) {
  return ((events & kReadable) != 0 ? EPOLLIN | EPOLLRDHUP : 0U) |
         ((events & kWritable) != 0 ? EPOLLOUT : 0U);
}

unsigned FromEpoll(uint32_t events) {
  return ((events & EPOLLIN) != 0 ? kReadable : 0U) | ((events & EPOLLOUT) != 0 ? kWritable : 0U) |
         ((events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0 ? kHangup : 0U);
}

}  // namespace

FdWatch& FdWatch::operator=(FdWatch&& other) noexcept {
  if (this == &other) return *this;
  Cancel();
  loop_ = std::exchange(other.loop_, nullptr);
  id_ = other.id_;
  return *this;
}

void FdWatch::Cancel() {
  if (loop_ == nullptr) return;
  auto entry = loop_->watched_.find(id_);
  ::epoll_ctl(loop_->epoll_fd_.get(), EPOLL_CTL_DEL, entry->second.fd, nullptr);
  loop_->watched_.erase(entry);
  loop_ = nullptr;
}

void FdWatch::SetEvents(unsigned events) {
  TENON_CHECK(active());
  epoll_event event{.events = ToEpoll(events), .data = {.u64 = id_}};
  int fd = loop_->watched_.at(id_).fd;
  TENON_CHECK(::epoll_ctl(loop_->epoll_fd_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void LoopHandle::Post(std::function<void()> closure) const {
  base::MutexLock lock(inbox_->mutex);
  if (inbox_->closed) return;
  inbox_->closures.push_back(std::move(closure));
  // The counter can only overflow after 2^64 posts, so this write cannot fail.
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(inbox_->wake_fd.get(), &one, sizeof one);
}

Result<std::unique_ptr<EventLoop>> EventLoop::Create(const base::Clock& clock) {
  base::UniqueFd epoll_fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_fd.valid()) return base::ErrnoError("epoll_create1", "");
  auto inbox = std::make_shared<LoopHandle::Inbox>();
  inbox->wake_fd.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!inbox->wake_fd.valid()) return base::ErrnoError("eventfd", "");
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakeId}};
  if (::epoll_ctl(epoll_fd.get(), EPOLL_CTL_ADD, inbox->wake_fd.get(), &event) != 0)
    return base::ErrnoError("epoll_ctl", "eventfd");
  return std::unique_ptr<EventLoop>(new EventLoop(clock, std::move(epoll_fd), std::move(inbox)));
}

EventLoop::EventLoop(const base::Clock& clock, base::UniqueFd epoll_fd,
                     std::shared_ptr<LoopHandle::Inbox> inbox)
    : clock_(clock),
      epoll_fd_(std::move(epoll_fd)),
      inbox_(std::move(inbox)),
      timers_(clock.Now()) {}

EventLoop::~EventLoop() {
  std::vector<std::function<void()>> unrun;
  base::MutexLock lock(inbox_->mutex);
  inbox_->closed = true;
  unrun.swap(inbox_->closures);
}

Result<FdWatch> EventLoop::WatchFd(int fd, unsigned events, FdCallback callback) {
  uint64_t id = next_id_++;
  epoll_event event{.events = ToEpoll(events), .data = {.u64 = id}};
  if (::epoll_ctl(epoll_fd_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return base::ErrnoError("epoll_ctl add fd", std::to_string(fd));
  watched_.emplace(id, Watched{fd, std::make_shared<FdCallback>(std::move(callback))});
  return FdWatch(this, id);
}

void EventLoop::WhenReadable(base::UniqueFd fd, std::function<void(int fd)> callback) {
  auto entry = adopted_.insert(adopted_.end(), Adopted{std::move(fd), FdWatch()});
  auto watch = WatchFd(entry->fd.get(), kReadable,
                       [this, entry, callback = std::move(callback)](unsigned /*events*/) {
                         Adopted ready = std::move(*entry);
                         adopted_.erase(entry);
                         callback(ready.fd.get());
                       });
  if (watch) {
    entry->watch = *std::move(watch);
  } else {
    adopted_.erase(entry);
  }
}

void EventLoop::Run() {
  stopped_ = false;
  while (!stopped_)
    Turn(clock_.Now() + kLongestWait);
}

bool EventLoop::RunUntil(const std::function<bool()>& done, base::Duration limit) {
  base::MonotonicTime end = clock_.Now() + limit;
  while (!done()) {
    Turn(end);
    if (clock_.Now() >= end) return done();
  }
  return true;
}

int EventLoop::TimeoutMs(base::MonotonicTime latest) const {
  base::MonotonicTime wake = latest;
  if (auto deadline = timers_.next_deadline()) wake = std::min(wake, *deadline);
  // Rounded up: waking early would spin until the deadline.
  auto wait = std::chrono::ceil<std::chrono::milliseconds>(wake - clock_.Now());
  return static_cast<int>(std::clamp<int64_t>(wait.count(), 0, 3'600'000));
}

void EventLoop::Turn(base::MonotonicTime latest) {
  std::array<epoll_event, kEventsPerTurn> events;
  int count = ::epoll_wait(epoll_fd_.get(), events.data(), kEventsPerTurn, TimeoutMs(latest));
  TENON_CHECK(count >= 0 || errno == EINTR);
  base::MonotonicTime start = clock_.Now();
  timers_.AdvanceTo(start);
  for (int i = 0; i < count; ++i) {
    // Copied out: the kernel's structure is packed, so a reference into it would be misaligned.
    const uint32_t ready = events[static_cast<size_t>(i)].events;
    const uint64_t id = events[static_cast<size_t>(i)].data.u64;
    if (id == kWakeId) {
      RunPosted();
      continue;
    }
    auto entry = watched_.find(id);
    if (entry == watched_.end()) continue;  // Cancelled by a callback earlier in this turn.
    // The callback may destroy its own watch: keep the function alive while it runs.
    std::shared_ptr<FdCallback> callback = entry->second.callback;
    (*callback)(FromEpoll(ready));
  }
  longest_turn_ = std::max(longest_turn_, base::Duration{clock_.Now() - start});
}

void EventLoop::RunPosted() {
  uint64_t count = 0;
  [[maybe_unused]] ssize_t got = ::read(inbox_->wake_fd.get(), &count, sizeof count);
  std::vector<std::function<void()>> closures;
  {
    base::MutexLock lock(inbox_->mutex);
    closures.swap(inbox_->closures);
  }
  for (auto& closure : closures)
    closure();
}

}  // namespace tenon::loop
