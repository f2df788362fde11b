#include "loop/timer_queue.h"

#include <algorithm>

#include "base/check.h"

namespace tenon::loop {

TimerHandle::TimerHandle(TimerHandle&& other) noexcept
    : queue_(std::exchange(other.queue_, nullptr)), key_(std::move(other.key_)) {}

TimerHandle& TimerHandle::operator=(TimerHandle&& other) noexcept {
  if (this == &other) return *this;
  Cancel();
  queue_ = std::exchange(other.queue_, nullptr);
  key_ = other.key_;
  return *this;
}

void TimerHandle::Cancel() {
  if (queue_ != nullptr) queue_->pending_.erase(key_);
  queue_ = nullptr;
}

bool TimerHandle::pending() const {
  return queue_ != nullptr && queue_->pending_.contains(key_);
}

TimerHandle TimerQueue::After(base::Duration delay, Callback callback) {
  TENON_CHECK(callback);
  // Far deadlines are cut to a year so that they cannot overflow.
  Key key{now_ + std::clamp<base::Duration>(delay, base::Duration::zero(), std::chrono::years(1)),
          next_id_++};
  pending_.emplace(key, Pending{std::move(callback), delay <= base::Duration::zero()});
  return {this, key};
}

void TimerQueue::AdvanceTo(base::MonotonicTime now) {
  TENON_CHECK(now >= now_);
  uint64_t first_new_id = next_id_;
  for (;;) {
    // A zero delay asked for by a callback waits for the next turn, else it could hang this one.
    auto due = std::ranges::find_if(pending_, [&](const auto& timer) {
      return timer.first.second < first_new_id || !timer.second.immediate;
    });
    if (due == pending_.end() || due->first.first > now) break;
    now_ = std::max(now_, due->first.first);
    Callback callback = std::move(due->second.callback);
    pending_.erase(due);
    callback();
  }
  now_ = now;
}

std::optional<base::MonotonicTime> TimerQueue::next_deadline() const {
  if (pending_.empty()) return std::nullopt;
  return pending_.begin()->first.first;
}

}  // namespace tenon::loop
