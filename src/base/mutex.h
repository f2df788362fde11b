#pragma once

#include <mutex>

// Clang thread-safety annotations; no-ops under GCC. std::mutex carries none in
// libstdc++, so all locking in tenon goes through Mutex and MutexLock.
#if defined(__clang__)
#define TENON_TSA(x) __attribute__((x))
#else
#define TENON_TSA(x)
#endif
#define TENON_GUARDED_BY(x) TENON_TSA(guarded_by(x))
#define TENON_REQUIRES(x) TENON_TSA(requires_capability(x))
#define TENON_EXCLUDES(x) TENON_TSA(locks_excluded(x))

namespace tenon::base {

class TENON_TSA(capability("mutex")) Mutex {
 public:
  void Lock() TENON_TSA(acquire_capability()) { mu_.lock(); }
  void Unlock() TENON_TSA(release_capability()) { mu_.unlock(); }

 private:
  std::mutex mu_;
};

class TENON_TSA(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mu) TENON_TSA(acquire_capability(mu)) : mu_(mu) { mu_.Lock(); }
  ~MutexLock() TENON_TSA(release_capability()) { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

/// Names the thread that owns some state, so that clang checks "loop thread only"
/// the way it checks a mutex. Holding it costs nothing at run time.
class TENON_TSA(capability("thread")) ThreadRole {
 public:
  void AssertHeld() const TENON_TSA(assert_capability(this)) {}
};

}  // namespace tenon::base
