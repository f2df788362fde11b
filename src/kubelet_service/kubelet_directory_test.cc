#include "kubelet_service/kubelet_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"
#include "loop/unix_socket.h"

namespace tenon::kubelet_service {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class KubeletDirectoryTest : public testing::Test {
 protected:
  KubeletDirectoryTest() {
    std::string pattern = testing::TempDir() + "kubelet.XXXXXX";
    top_ = fs::canonical(::mkdtemp(pattern.data()));
  }
  ~KubeletDirectoryTest() override { fs::remove_all(top_); }

  /// "ok" or the error's text.
  std::string Open(const std::string& root, bool take_over = false) {
    auto directory = KubeletDirectory::Open(root, take_over);
    if (!directory) return directory.error().message();
    open_ = *std::move(directory);
    return "ok";
  }
  /// A socket that nobody listens on.
  static void LeaveSocket(const std::string& path) {
    base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    ASSERT_LT(path.size(), sizeof address.sun_path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  static std::vector<std::string> List(const std::string& path) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path))
      names.push_back(entry.path().filename());
    return names;
  }
  static unsigned Mode(const std::string& path) {
    struct stat st;
    EXPECT_EQ(::stat(path.c_str(), &st), 0);
    return st.st_mode & 07777U;
  }

  std::string top_;
  std::unique_ptr<KubeletDirectory> open_;
};

TEST_F(KubeletDirectoryTest, MakesEverythingForItselfAlone) {
  std::string root = top_ + "/a/b/kubelet";

  ASSERT_EQ(Open(root), "ok");

  EXPECT_EQ(open_->root(), root);
  EXPECT_EQ(open_->plugin_directory(), root + "/device-plugins");
  EXPECT_EQ(open_->pod_resources_socket(), root + "/pod-resources/kubelet.sock");
  for (const char* name : {"", "/device-plugins", "/plugins_registry", "/pod-resources"})
    EXPECT_EQ(Mode(root + name), 0700U) << name;
}

TEST_F(KubeletDirectoryTest, RemovesSocketsAndNothingElse) {
  std::string plugins = top_ + "/device-plugins";
  ASSERT_EQ(Open(top_), "ok");
  open_.reset();
  LeaveSocket(plugins + "/kubelet.sock");
  LeaveSocket(plugins + "/plugin.sock");
  fs::create_symlink("plugin.sock", plugins + "/link.sock");
  fs::create_symlink("nowhere", plugins + "/dangling");
  fs::create_directory(plugins + "/directory");
  std::ofstream(plugins + "/kubelet_internal_checkpoint") << "{}";
  std::ofstream(plugins + "/DEPRECATION") << "text";

  ASSERT_EQ(Open(top_), "ok");

  // Whether the symlink to a socket goes depends on what is removed first.
  fs::remove(plugins + "/link.sock");
  EXPECT_THAT(List(plugins), UnorderedElementsAre("dangling", "directory",
                                                  "kubelet_internal_checkpoint", "DEPRECATION"));
}

TEST_F(KubeletDirectoryTest, KeepsASecondOneOut) {
  ASSERT_EQ(Open(top_), "ok");
  auto first = std::move(open_);

  EXPECT_THAT(Open(top_), HasSubstr("is in use by another tenon kubelet"));
  EXPECT_THAT(Open(top_, true), HasSubstr("is in use by another tenon kubelet"));

  first.reset();
  EXPECT_EQ(Open(top_), "ok");
}

TEST_F(KubeletDirectoryTest, RefusesOneWhoseKubeletAnswers) {
  ASSERT_EQ(Open(top_), "ok");
  open_.reset();
  auto kubelet = loop::UnixListener::Listen(top_ + "/device-plugins/kubelet.sock", 0600);
  ASSERT_TRUE(kubelet);
  LeaveSocket(top_ + "/device-plugins/plugin.sock");

  EXPECT_THAT(Open(top_),
              AllOf(HasSubstr("/device-plugins/kubelet.sock answers"), HasSubstr("--take-over")));
  EXPECT_TRUE(fs::exists(top_ + "/device-plugins/plugin.sock")) << "nothing was touched";
  EXPECT_EQ(Open(top_, true), "ok");
  EXPECT_FALSE(fs::exists(top_ + "/device-plugins/plugin.sock"));
}

TEST_F(KubeletDirectoryTest, RefusesTheMachinesKubeletUnderAnyName) {
  fs::create_symlink("/var/lib", top_ + "/link");

  for (const std::string& path :
       {std::string("/var/lib/kubelet"), std::string("/var/lib/kubelet/"),
        std::string("/var/lib/../lib/kubelet"), std::string("/var/lib/kubelet/device-plugins"),
        top_ + "/link/kubelet", top_ + "/link/kubelet/device-plugins"})
    EXPECT_THAT(Open(path), AllOf(HasSubstr(path + " is the directory of this machine's kubelet"),
                                  HasSubstr("--take-over")));
}

TEST_F(KubeletDirectoryTest, RefusesADirectoryThatOthersCanUse) {
  fs::permissions(top_, fs::perms(0755));

  EXPECT_THAT(Open(top_), AllOf(HasSubstr("has mode 0755"), HasSubstr("chmod 0700")));
  EXPECT_THAT(List(top_), testing::IsEmpty());
}

TEST_F(KubeletDirectoryTest, RefusesADirectoryOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  ASSERT_EQ(::chown(top_.c_str(), 12345, 12345), 0);

  EXPECT_THAT(Open(top_), HasSubstr("belongs to user 12345"));
}

TEST_F(KubeletDirectoryTest, TakesADirectoryOverAsItIs) {
  fs::permissions(top_, fs::perms(0755));

  ASSERT_EQ(Open(top_, true), "ok");

  EXPECT_EQ(Mode(top_), 0755U);
}

TEST_F(KubeletDirectoryTest, SaysWhatIsInTheWay) {
  std::ofstream(top_ + "/file") << "";

  EXPECT_THAT(Open(top_ + "/file"), HasSubstr(top_ + "/file is not a directory"));
  EXPECT_THAT(Open(top_ + "/file/sub"), HasSubstr(top_ + "/file"));
}

}  // namespace
}  // namespace tenon::kubelet_service
