#include "loop/unix_socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tenon::loop {
namespace {

using ::testing::HasSubstr;

struct UnixSocketTest : ::testing::Test {
  UnixSocketTest() {
    std::string pattern = ::testing::TempDir() + "tenon-XXXXXX";
    directory = ::mkdtemp(pattern.data());
    path = directory + "/a.sock";
  }
  ~UnixSocketTest() override { std::filesystem::remove_all(directory); }
  size_t Entries() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
  }
  std::string directory, path;
};

TEST_F(UnixSocketTest, ListensWhereItWasToldWithTheModeAskedFor) {
  auto listener = UnixListener::Listen(path, 0640);
  ASSERT_TRUE(listener);

  struct stat found {};
  ASSERT_EQ(0, ::lstat(path.c_str(), &found));
  EXPECT_TRUE(S_ISSOCK(found.st_mode));
  EXPECT_EQ(0640U, found.st_mode & 07777);
  EXPECT_EQ(1U, Entries()) << "the hidden name must be gone";
  EXPECT_TRUE(ConnectUnix(path));
}

TEST_F(UnixSocketTest, RemovesItsFileAtTheEnd) {
  { auto listener = UnixListener::Listen(path, 0600); }

  EXPECT_EQ(0U, Entries());
}

TEST_F(UnixSocketTest, LeavesASuccessorsFileAlone) {
  auto first = UnixListener::Listen(path, 0600);
  ASSERT_TRUE(first);
  ::unlink(path.c_str());
  EXPECT_FALSE((*first)->is_ours());
  auto second = UnixListener::Listen(path, 0600);
  ASSERT_TRUE(second);

  first->reset();

  EXPECT_TRUE((*second)->is_ours());
  EXPECT_TRUE(ConnectUnix(path));
}

TEST_F(UnixSocketTest, ReplacesASocketThatNobodyListensOn) {
  std::string other = directory + "/b.sock";
  auto dead = UnixListener::Listen(other, 0600);
  ASSERT_TRUE(dead);
  std::filesystem::rename(other, path);  // So that its owner's end does not remove it.
  dead->reset();
  ASSERT_EQ(1U, Entries());
  EXPECT_EQ(Code::kUnavailable, ConnectUnix(path).error().code());

  auto listener = UnixListener::Listen(path, 0600);

  ASSERT_TRUE(listener);
  EXPECT_TRUE(ConnectUnix(path));
}

TEST_F(UnixSocketTest, RefusesASocketThatAnswers) {
  auto listener = UnixListener::Listen(path, 0600);
  ASSERT_TRUE(listener);

  auto second = UnixListener::Listen(path, 0600);

  ASSERT_FALSE(second);
  EXPECT_EQ(Code::kFailedPrecondition, second.error().code());
  EXPECT_EQ(path + " is in use by another process", second.error().message());
  EXPECT_TRUE((*listener)->is_ours());
}

TEST_F(UnixSocketTest, RefusesASocketWhoseQueueIsFull) {
  auto listener = UnixListener::Listen(path, 0600);
  ASSERT_TRUE(listener);
  ASSERT_EQ(0, ::listen((*listener)->fd(), 0));
  std::vector<base::UniqueFd> clients;
  while (auto client = ConnectUnix(path))
    clients.push_back(*std::move(client));

  EXPECT_EQ(Code::kFailedPrecondition, UnixListener::Listen(path, 0600).error().code());
}

TEST_F(UnixSocketTest, NeverReplacesAFileThatIsNoSocket) {
  std::ofstream(path) << "precious";

  auto listener = UnixListener::Listen(path, 0600);

  ASSERT_FALSE(listener);
  EXPECT_EQ(Code::kFailedPrecondition, listener.error().code());
  EXPECT_THAT(listener.error().message(), HasSubstr("not a socket"));
  EXPECT_EQ(8U, std::filesystem::file_size(path));
}

TEST_F(UnixSocketTest, SaysThatAPathIsTooLong) {
  auto listener = UnixListener::Listen(directory + "/" + std::string(120, 'x'), 0600);

  ASSERT_FALSE(listener);
  EXPECT_EQ(Code::kInvalidArgument, listener.error().code());
  EXPECT_THAT(listener.error().message(), HasSubstr("1 to 107 are possible"));
}

TEST_F(UnixSocketTest, NamesADirectoryThatIsMissing) {
  auto listener = UnixListener::Listen(directory + "/none/a.sock", 0600);

  ASSERT_FALSE(listener);
  EXPECT_EQ(Code::kNotFound, listener.error().code());
  EXPECT_EQ(Code::kNotFound, ConnectUnix(path).error().code());
}

}  // namespace
}  // namespace tenon::loop
