#include "plugin_service/status_code.h"

namespace tenon::plugin_service {

rpc::StatusCode ToStatusCode(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return rpc::StatusCode::kInvalidArgument;
    case Code::kNotFound:
      return rpc::StatusCode::kNotFound;
    case Code::kPermissionDenied:
      return rpc::StatusCode::kPermissionDenied;
    case Code::kFailedPrecondition:
      return rpc::StatusCode::kFailedPrecondition;
    case Code::kResourceExhausted:
      return rpc::StatusCode::kResourceExhausted;
    case Code::kUnavailable:
      return rpc::StatusCode::kUnavailable;
    case Code::kDeadlineExceeded:
      return rpc::StatusCode::kDeadlineExceeded;
    case Code::kDataLoss:
      return rpc::StatusCode::kDataLoss;
    case Code::kUnimplemented:
      return rpc::StatusCode::kUnimplemented;
    case Code::kInternal:
      return rpc::StatusCode::kInternal;
  }
  return rpc::StatusCode::kUnknown;
}

Code FromStatusCode(rpc::StatusCode code) {
  switch (code) {
    case rpc::StatusCode::kInvalidArgument:
    case rpc::StatusCode::kOutOfRange:
      return Code::kInvalidArgument;
    case rpc::StatusCode::kNotFound:
      return Code::kNotFound;
    case rpc::StatusCode::kPermissionDenied:
    case rpc::StatusCode::kUnauthenticated:
      return Code::kPermissionDenied;
    // The kubelet's own refusals carry Unknown: what it is asked for does not suit it.
    case rpc::StatusCode::kUnknown:
    case rpc::StatusCode::kAlreadyExists:
    case rpc::StatusCode::kFailedPrecondition:
      return Code::kFailedPrecondition;
    case rpc::StatusCode::kResourceExhausted:
      return Code::kResourceExhausted;
    case rpc::StatusCode::kCanceled:
    case rpc::StatusCode::kAborted:
    case rpc::StatusCode::kUnavailable:
      return Code::kUnavailable;
    case rpc::StatusCode::kDeadlineExceeded:
      return Code::kDeadlineExceeded;
    case rpc::StatusCode::kDataLoss:
      return Code::kDataLoss;
    case rpc::StatusCode::kUnimplemented:
      return Code::kUnimplemented;
    case rpc::StatusCode::kOk:
    case rpc::StatusCode::kInternal:
      return Code::kInternal;
  }
  return Code::kInternal;
}

rpc::Status ToStatus(const Error& error) {
  return {ToStatusCode(error.code()), error.message()};
}

Error ToError(const rpc::Status& status) {
  return {FromStatusCode(status.code), rpc::ToString(status)};
}

}  // namespace tenon::plugin_service
