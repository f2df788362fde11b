#pragma once

#include <chrono>

namespace tenon::base {

using Duration = std::chrono::nanoseconds;
/// Never goes back, does not count suspended time; deadlines and intervals.
using MonotonicTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
/// What a person calls the time; for showing only, it may jump.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

/// Where time comes from, so that tests can push it by hand.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;
  virtual MonotonicTime Now() const = 0;
  virtual WallTime WallNow() const = 0;
};

/// The machine's clocks. Thread: any.
class SystemClock final : public Clock {
 public:
  MonotonicTime Now() const override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }
};

/// Stands still until told to move; starts at 2026-01-01T00:00:00Z.
class FakeClock final : public Clock {
 public:
  MonotonicTime Now() const override { return now_; }
  WallTime WallNow() const override { return wall_; }
  void Advance(Duration d) {
    now_ += d;
    wall_ += d;
  }

 private:
  MonotonicTime now_{std::chrono::hours(1)};
  WallTime wall_{std::chrono::seconds(1767225600)};
};

}  // namespace tenon::base
