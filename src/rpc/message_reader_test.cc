#include "rpc/message_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::rpc {
namespace {

using ::testing::ElementsAre;

std::string Framed(std::string_view message) {
  auto prefix = MessagePrefix(message.size());
  return std::string(prefix.data(), prefix.size()).append(message);
}

struct MessageReaderTest : ::testing::Test {
  MessageReader reader{1000};
  std::vector<std::string> messages;
};

TEST_F(MessageReaderTest, CutsOneChunkIntoMessages) {
  EXPECT_TRUE(reader.Add(Framed("a") + Framed("") + Framed("bcd"), messages).ok());

  EXPECT_THAT(messages, ElementsAre("a", "", "bcd"));
  EXPECT_FALSE(reader.mid_message());
}

TEST_F(MessageReaderTest, PutsMessagesTogetherFromSingleBytes) {
  for (char c : Framed("hello") + Framed(std::string(300, 'x')))
    EXPECT_TRUE(reader.Add({&c, 1}, messages).ok());

  EXPECT_THAT(messages, ElementsAre("hello", std::string(300, 'x')));
}

TEST_F(MessageReaderTest, KnowsThatItIsWithinAMessage) {
  EXPECT_FALSE(reader.mid_message());
  EXPECT_TRUE(reader.Add({"\0", 1}, messages).ok());
  EXPECT_TRUE(reader.mid_message());
}

TEST_F(MessageReaderTest, RefusesALargerMessageByItsPrefix) {
  EXPECT_TRUE(reader.Add(Framed(std::string(1000, 'x')), messages).ok());

  Status status = reader.Add(Framed(std::string(1001, 'x')).substr(0, 5), messages);

  EXPECT_EQ(
      "rpc error: code = ResourceExhausted desc = grpc: received message larger than max "
      "(1001 vs. 1000)",
      ToString(status));
}

TEST_F(MessageReaderTest, RefusesCompressionByName) {
  reader.set_encoding("gzip");

  EXPECT_EQ(
      "rpc error: code = Unimplemented desc = grpc: Decompressor is not installed for "
      "grpc-encoding \"gzip\"",
      ToString(reader.Add({"\1\0\0\0\0", 5}, messages)));
}

TEST_F(MessageReaderTest, RefusesACompressedMessageWithoutAnEncoding) {
  EXPECT_EQ(
      "rpc error: code = Internal desc = grpc: compressed flag set with identity or empty "
      "encoding",
      ToString(reader.Add({"\1\0\0\0\0", 5}, messages)));
}

TEST_F(MessageReaderTest, RefusesAnUnknownFlag) {
  EXPECT_EQ(StatusCode::kInternal, reader.Add({"\2\0\0\0\0", 5}, messages).code);
}

TEST(MessagePrefix, IsBigEndian) {
  EXPECT_THAT(MessagePrefix(0x01020304), ElementsAre(0, 1, 2, 3, 4));
}

}  // namespace
}  // namespace tenon::rpc
