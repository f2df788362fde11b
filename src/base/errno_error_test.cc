#include "base/errno_error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tenon::base {
namespace {

TEST(ErrnoError, NamesTheCallTheObjectAndTheReason) {
  Error error = ErrnoError("open", "/dev/x", EACCES);

  EXPECT_EQ("open /dev/x: Permission denied", error.message());
  EXPECT_EQ(Code::kPermissionDenied, error.code());
  EXPECT_EQ(EACCES, error.os_errno());
}

TEST(ErrnoError, AFullDiskIsExhaustedAndAnUnknownErrnoInternal) {
  EXPECT_EQ(Code::kResourceExhausted, ErrnoError("write", "f", ENOSPC).code());
  EXPECT_EQ(Code::kInternal, ErrnoError("ioctl", "f", ENOTTY).code());
}

}  // namespace
}  // namespace tenon::base
