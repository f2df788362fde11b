#include "plugin/socket_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"

namespace tenon::plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

base::UniqueFd Bind(const std::string& path, bool listening) {
  sockaddr_un address{.sun_family = AF_UNIX};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(0, ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address));
  if (listening) {
    EXPECT_EQ(0, ::listen(fd.get(), 1));
  }
  return fd;
}

struct SocketNameTest : ::testing::Test {
  SocketNameTest() {
    std::string pattern = ::testing::TempDir() + "tenon-name-XXXXXX";
    directory = ::mkdtemp(pattern.data());
  }
  ~SocketNameTest() override { std::filesystem::remove_all(directory); }
  std::string Path(std::string_view token) const {
    return directory + "/" + SocketName(resource, token);
  }
  std::string directory;
  const ResourceName resource = *ResourceName::Parse("example.com/serial");
  const ResourceName other = *ResourceName::Parse("example.com/fuse");
};

TEST_F(SocketNameTest, IsShortAndTellsResourceAndProcess) {
  std::string name = SocketName(resource, *NewProcessToken());

  EXPECT_THAT(name, MatchesRegex("tenon-[0-9a-f]{8}-[0-9a-z]{7}\\.sock"));
  EXPECT_NE(SocketName(resource, "x"), SocketName(other, "x"));
  EXPECT_NE(*NewProcessToken(), *NewProcessToken());
}

TEST_F(SocketNameTest, RemovesWhatAKilledPredecessorLeft) {
  Bind(Path("old"), true).Reset();

  EXPECT_FALSE(IsServed(directory, resource));
  EXPECT_THAT(RemoveStaleSockets(directory, resource), ElementsAre(SocketName(resource, "old")));
  EXPECT_FALSE(std::filesystem::exists(Path("old")));
}

TEST_F(SocketNameTest, LeavesALivingNeighbourEvenWithAFullQueue) {
  base::UniqueFd listener = Bind(Path("live"), true);
  std::vector<base::UniqueFd> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX};
    Path("live").copy(address.sun_path, sizeof address.sun_path - 1);
    (void)::connect(waiting.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }

  EXPECT_TRUE(IsServed(directory, resource));
  EXPECT_THAT(RemoveStaleSockets(directory, resource), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(Path("live")));
}

TEST_F(SocketNameTest, LeavesOtherResourcesFilesAndLinks) {
  Bind(directory + "/" + SocketName(other, "old"), true).Reset();
  Bind(directory + "/kubelet.sock", true).Reset();
  std::ofstream(Path("file")) << "text";
  std::filesystem::create_symlink(directory + "/kubelet.sock", Path("link"));

  EXPECT_THAT(RemoveStaleSockets(directory, resource), IsEmpty());
}

TEST_F(SocketNameTest, AMissingDirectoryHasNothingStale) {
  EXPECT_THAT(RemoveStaleSockets(directory + "/missing", resource), IsEmpty());
}

}  // namespace
}  // namespace tenon::plugin
