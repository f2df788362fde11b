#pragma once

#include <string>
#include <string_view>

namespace tenon::rpc {

/// The canonical gRPC status codes. Source: grpc/status.h.
enum class StatusCode {
  kOk = 0,
  kCanceled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// How a call ended.
struct [[nodiscard]] Status {
  StatusCode code = StatusCode::kOk;
  std::string message;

  bool ok() const { return code == StatusCode::kOk; }
  bool operator==(const Status&) const = default;
};

/// "DeadlineExceeded": the names that grpc-go prints, which operators grep for.
std::string_view StatusCodeName(StatusCode code);

/// "rpc error: code = NotFound desc = no such device", as grpc-go renders an error.
std::string ToString(const Status& status);

}  // namespace tenon::rpc
