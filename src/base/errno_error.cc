#include "base/errno_error.h"

#include <cerrno>
#include <system_error>

namespace tenon::base {
namespace {

Code CodeOf(int os_errno) {
  switch (os_errno) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Code::kResourceExhausted;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case EAGAIN:
      return Code::kUnavailable;
    case ETIMEDOUT:
      return Code::kDeadlineExceeded;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case ENOTDIR:
      return Code::kInvalidArgument;
    case EADDRINUSE:
    case EBUSY:
    case EEXIST:
      return Code::kFailedPrecondition;
    default:
      return Code::kInternal;
  }
}

}  // namespace

std::string ErrnoText(int os_errno) {
  return std::generic_category().message(os_errno);
}

Error ErrnoError(std::string_view call, std::string_view object, int os_errno) {
  std::string message(call);
  if (!object.empty()) message.append(" ").append(object);
  message.append(": ").append(ErrnoText(os_errno));
  return {CodeOf(os_errno), std::move(message), os_errno};
}

Error ErrnoError(std::string_view call, std::string_view object) {
  return ErrnoError(call, object, errno);
}

}  // namespace tenon::base
