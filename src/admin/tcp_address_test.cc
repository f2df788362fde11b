#include "admin/tcp_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::admin {
namespace {

using ::testing::HasSubstr;

TEST(TcpAddress, ReadsTheUsualForms) {
  EXPECT_EQ((TcpAddress{"127.0.0.1", 9100}), *ParseTcpAddress("127.0.0.1:9100"));
  EXPECT_EQ((TcpAddress{"0.0.0.0", 80}), *ParseTcpAddress("0.0.0.0:80"));
  EXPECT_EQ((TcpAddress{"::1", 9100}), *ParseTcpAddress("[::1]:9100"));
  EXPECT_EQ((TcpAddress{"127.0.0.1", 9100}), *ParseTcpAddress(":9100"));
  EXPECT_EQ((TcpAddress{"127.0.0.1", 0}), *ParseTcpAddress("localhost:0"));
  EXPECT_EQ("[::1]:9100", FormatTcpAddress({"::1", 9100}));
}

TEST(TcpAddress, RefusesWhatItCannotListenOn) {
  for (const char* text : {"", "9100", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "1.2.3:80",
                           "127.0.0.1:65536", "::1:9100", "[::1]", "[::1]9100", "[::1",
                           "[1.2.3.4]:80", "example.com:80", "127.0.0.1:-1", "\n:80"}) {
    auto address = ParseTcpAddress(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(Code::kInvalidArgument, address.error().code());
    EXPECT_THAT(address.error().message(), HasSubstr("write it as 127.0.0.1:9100"));
  }
}

TEST(TcpAddress, NamesAnAddressThatIsTaken) {
  TcpAddress address{"127.0.0.1", 0};
  auto first = ListenOnTcp(address);
  ASSERT_TRUE(first);
  ASSERT_NE(0, address.port);

  auto second = ListenOnTcp(address);

  ASSERT_FALSE(second);
  EXPECT_EQ(Code::kFailedPrecondition, second.error().code());
  EXPECT_THAT(second.error().message(), HasSubstr(FormatTcpAddress(address)));
}

TEST(TcpAddress, TrustsHostsThatNoForeignPageCanSend) {
  for (const char* host :
       {"localhost", "localhost:9100", "127.0.0.1", "10.1.2.3:9100", "[::1]", "[fe80::1]:9100"})
    EXPECT_TRUE(IsTrustedHost(host)) << host;
  for (const char* host : {"", "example.com", "localhost.example.com", "127.0.0.1.example.com:80",
                           "127.0.0.1, example.com", "[::1", "[::1]x", "localhost:x", ":9100"})
    EXPECT_FALSE(IsTrustedHost(host)) << host;
}

}  // namespace
}  // namespace tenon::admin
