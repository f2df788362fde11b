#pragma once

#include <cstdint>

#include "base/clock.h"

namespace tenon::loop {

/// How long to wait before the next try: doubles from `first` to `most`, each delay drawn evenly
/// from its upper half so that many processes do not retry in step. Tries never run out.
class Backoff final {
 public:
  struct Options {
    base::Duration first = std::chrono::milliseconds(100);
    base::Duration most = std::chrono::seconds(10);
  };

  Backoff(Options options, uint64_t seed) : options_(options), random_(seed | 1) {}

  /// The delay before the next try; each call doubles the following one.
  base::Duration Next();
  /// Starts over after a success.
  void Reset() { current_ = base::Duration::zero(); }

 private:
  const Options options_;
  uint64_t random_;
  base::Duration current_{};
};

}  // namespace tenon::loop
