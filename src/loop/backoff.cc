#include "loop/backoff.h"

#include <algorithm>

namespace tenon::loop {

base::Duration Backoff::Next() {
  current_ =
      current_ == base::Duration::zero() ? options_.first : std::min(current_ * 2, options_.most);
  // xorshift64 (Marsaglia 2003): jitter needs spread, not secrecy.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  auto half = current_.count() / 2;
  return base::Duration(current_.count() - half +
                        static_cast<int64_t>(random_ % static_cast<uint64_t>(half + 1)));
}

}  // namespace tenon::loop
