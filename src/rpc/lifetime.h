#pragma once

#include <utility>

namespace tenon::rpc {

/// Tells a member function that calls out whether its object has survived the call. A member of
/// the object.
class Lifetime final {
 public:
  Lifetime() = default;
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;
  ~Lifetime() {
    if (ended_ != nullptr) *ended_ = true;
  }

  /// Runs `call`, which may destroy the object. Returns: whether it still exists.
  template <class Call>
  bool Outlives(Call call) {
    bool ended = false;
    bool* outer = std::exchange(ended_, &ended);
    call();
    if (!ended) {
      ended_ = outer;
    } else if (outer != nullptr) {
      *outer = true;
    }
    return !ended;
  }

 private:
  bool* ended_ = nullptr;  ///< Where the innermost call in progress wants to be told.
};

}  // namespace tenon::rpc
