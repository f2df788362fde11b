#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenon {

/// What a caller can do about a failure. A subset of the canonical gRPC codes, so
/// that the *_service modules map it one to one. Add a code only when some caller branches on it.
enum class Code {
  kInvalidArgument,     ///< The request or the configuration is wrong; retrying cannot help.
  kNotFound,            ///< The named thing does not exist (ENOENT).
  kPermissionDenied,    ///< The host refused (EACCES, EPERM).
  kFailedPrecondition,  ///< Not in a state that allows this call; fix the state first.
  kResourceExhausted,   ///< Not enough healthy devices, descriptors or quota.
  kUnavailable,         ///< The peer is gone or restarting; retry with back-off.
  kDeadlineExceeded,    ///< The peer did not answer in time.
  kDataLoss,            ///< A checkpoint or a sysfs file is corrupt.
  kUnimplemented,       ///< The peer does not offer this method.
  kInternal,            ///< A bug in tenon.
};

/// One failure: a code to branch on, a message to read, the errno if there was one.
///
/// Messages read from the outside in, "register with kubelet: connect
/// /var/lib/kubelet/device-plugins/kubelet.sock: Connection refused": lower case, no
/// final period, no "failed to", and each layer adds only what it alone knows.
class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message, int os_errno = 0)
      : code_(code), os_errno_(os_errno), message_(std::move(message)) {}

  Code code() const { return code_; }
  int os_errno() const { return os_errno_; }  ///< 0 when no system call failed.
  const std::string& message() const { return message_; }

  /// Returns this error with "`context`: " put in front of the message.
  Error Wrap(std::string_view context) && {
    message_.insert(0, std::string(context) + ": ");
    return std::move(*this);
  }

 private:
  Code code_;
  int os_errno_;
  std::string message_;
};

/// A T or an Error. The names are those of std::expected, to become an alias for it
/// once the oldest supported toolchain has it; [[nodiscard]] is what it adds.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return v_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return std::get<0>(v_); }
  const T& value() const& { return std::get<0>(v_); }
  T&& value() && { return std::get<0>(std::move(v_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(v_); }
  Error&& error() && { return std::get<1>(std::move(v_)); }

 private:
  std::variant<T, Error> v_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const { return !error_; }
  explicit operator bool() const { return has_value(); }

  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace tenon

#define TENON_CONCAT_(a, b) a##b
#define TENON_CONCAT(a, b) TENON_CONCAT_(a, b)

/// TENON_TRY(auto fd, host.Open(path)): declares `fd`, or returns the error from here.
#define TENON_TRY(decl, expr) TENON_TRY_(decl, expr, TENON_CONCAT(tenon_try_, __COUNTER__))
#define TENON_TRY_(decl, expr, tmp)        \
  auto tmp = (expr);                       \
  if (!tmp) return std::move(tmp).error(); \
  decl = *std::move(tmp)

/// TENON_TRY_VOID(file.Sync()): the same for a Result<void>.
#define TENON_TRY_VOID(expr)                                                \
  do {                                                                      \
    if (auto tenon_r = (expr); !tenon_r) return std::move(tenon_r).error(); \
  } while (false)
