#include "plugin_service/status_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::plugin_service {
namespace {

TEST(StatusCodeTest, EachOfOurCodesSurvivesTheTripOverTheWire) {
  for (Code code :
       {Code::kInvalidArgument, Code::kNotFound, Code::kPermissionDenied, Code::kFailedPrecondition,
        Code::kResourceExhausted, Code::kUnavailable, Code::kDeadlineExceeded, Code::kDataLoss,
        Code::kUnimplemented, Code::kInternal}) {
    EXPECT_EQ(code, FromStatusCode(ToStatusCode(code)));
  }
}

TEST(StatusCodeTest, TheOthersAllowTheCallerTheSame) {
  EXPECT_EQ(Code::kFailedPrecondition, FromStatusCode(rpc::StatusCode::kUnknown));
  EXPECT_EQ(Code::kUnavailable, FromStatusCode(rpc::StatusCode::kCanceled));
  EXPECT_EQ(Code::kPermissionDenied, FromStatusCode(rpc::StatusCode::kUnauthenticated));
  EXPECT_EQ(Code::kInternal, FromStatusCode(static_cast<rpc::StatusCode>(99)));
}

TEST(StatusCodeTest, APeersAnswerIsWordedAsGrpcGoDoes) {
  Error error = ToError({rpc::StatusCode::kUnknown, "the ResourceName \"x\" is invalid"});

  EXPECT_EQ("rpc error: code = Unknown desc = the ResourceName \"x\" is invalid", error.message());
}

TEST(StatusCodeTest, OurErrorGoesOutWithItsCodeAndMessage) {
  EXPECT_EQ((rpc::Status{rpc::StatusCode::kNotFound, "device x"}),
            ToStatus(Error(Code::kNotFound, "device x")));
}

}  // namespace
}  // namespace tenon::plugin_service
