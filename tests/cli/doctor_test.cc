#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>

#include "admin/http_server.h"
#include "cli_fixture.h"
#include "loop/unix_socket.h"

namespace tenon::cli_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

/// A kube node in a directory: whole, unless a test breaks something.
struct DoctorTest : CliTest {
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root's files are those of a kube node";
    for (const char* path : {"kubelet/device-plugins", "kubelet/pod-resources", "root/etc/cdi",
                             "root/sys/fs/selinux", "root/proc/42", "root/proc/sys/fs/inotify"})
      fs::create_directories(directory + "/" + path);
    WriteFile("root/proc/42/comm", "kubelet\n");
    WriteFile("root/proc/42/cmdline",
              "/usr/bin/kubelet" + std::string(1, '\0') + "--root-dir=" + directory + "/kubelet");
    WriteFile("root/proc/sys/fs/inotify/max_user_instances", "128\n");
    WriteFile("root/proc/sys/fs/inotify/max_user_watches", "65536\n");
  }

  Outcome Examine(std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"doctor",
                                     "--root",
                                     directory + "/root",
                                     "--control",
                                     directory + "/tenond.sock",
                                     "--kubelet-dir",
                                     directory + "/kubelet"};
    args.insert(args.end(), more.begin(), more.end());
    return Run(args);
  }

  /// A socket that a killed process left.
  void LeaveSocket(const std::string& path) const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(0, ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
    ::close(fd);
  }

  std::string plugins = directory + "/kubelet/device-plugins";
  std::unique_ptr<loop::UnixListener> kubelet;
  void StartKubelet() { kubelet = *loop::UnixListener::Listen(plugins + "/kubelet.sock", 0600); }
};

TEST_F(DoctorTest, AWholeNodeIsWell) {
  StartKubelet();

  const Outcome outcome = Examine();

  EXPECT_EQ(0, outcome.code) << outcome.out;
  EXPECT_THAT(outcome.out, Not(HasSubstr("BAD")));
  EXPECT_THAT(outcome.out, HasSubstr("runs as process 42, its directory is " + directory));
  EXPECT_THAT(outcome.out, HasSubstr("the kubelet listens"));
  EXPECT_THAT(outcome.out, HasSubstr("none yet"));
  EXPECT_THAT(outcome.out, HasSubstr("/etc/cdi"));
}

TEST_F(DoctorTest, SaysThatTheKubeletIsNotThere) {
  const Outcome absent = Examine();
  EXPECT_EQ(1, absent.code);
  EXPECT_THAT(absent.out, HasSubstr("BAD   kubelet.sock"));
  EXPECT_THAT(absent.out, HasSubstr("the kubelet does not run, or keeps its sockets elsewhere"));

  LeaveSocket(plugins + "/kubelet.sock");
  EXPECT_THAT(Examine().out, HasSubstr("the kubelet has ended or hangs"));

  fs::remove_all(plugins);
  EXPECT_THAT(Examine().out, HasSubstr("name its directory with --kubelet-dir"));
}

TEST_F(DoctorTest, SaysWhereTheKubeletReallyIs) {
  StartKubelet();
  WriteFile("root/proc/42/cmdline", "kubelet" + std::string(1, '\0') + "--root-dir" +
                                        std::string(1, '\0') + "/srv/kubelet");

  EXPECT_THAT(Examine().out, HasSubstr("give --kubelet-dir /srv/kubelet to tenon and tenond"));
}

TEST_F(DoctorTest, NamesSocketsThatNobodyListensOn) {
  StartKubelet();
  auto plugin = *loop::UnixListener::Listen(plugins + "/alive.sock", 0600);
  LeaveSocket(plugins + "/dead.sock");

  const Outcome outcome = Examine();

  EXPECT_EQ(0, outcome.code);
  EXPECT_THAT(outcome.out, HasSubstr("1 plugin listens; nobody listens on dead.sock"));
}

TEST_F(DoctorTest, ABrokenCheckpointIsBad) {
  StartKubelet();
  WriteFile("kubelet/device-plugins/kubelet_internal_checkpoint", "{\"Data\":");

  const Outcome outcome = Examine();

  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.out, HasSubstr("BAD   checkpoint"));
  EXPECT_THAT(outcome.out, HasSubstr("remove the file, restart the kubelet"));
}

TEST_F(DoctorTest, WhatOthersMayWriteToIsBad) {
  StartKubelet();
  fs::permissions(plugins, fs::perms::all);
  ASSERT_EQ(0, ::chown((directory + "/root/etc/cdi").c_str(), 1000, 1000));

  const Outcome outcome = Examine();

  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.out, HasSubstr("has mode 0777, so that others may write to it"));
  EXPECT_THAT(outcome.out, HasSubstr("/etc/cdi belongs to uid 1000"));
}

TEST_F(DoctorTest, LinksOfTheMachineStayBelowItsRoot) {
  StartKubelet();
  fs::create_directories(directory + "/root/run/cdi");
  fs::create_directories(directory + "/root/var");
  fs::create_symlink("/run", directory + "/root/var/run");
  ASSERT_EQ(0, ::chown((directory + "/root/run/cdi").c_str(), 1000, 1000));

  EXPECT_THAT(Examine().out, HasSubstr("/var/run/cdi belongs to uid 1000"));
}

TEST_F(DoctorTest, KnowsTheLimitsOfTheNode) {
  StartKubelet();
  WriteFile("root/proc/sys/fs/inotify/max_user_instances", "8\n");
  WriteFile("root/sys/fs/selinux/enforce", "1");

  const Outcome outcome = Examine();

  EXPECT_EQ(0, outcome.code) << "may be meant so";
  EXPECT_THAT(outcome.out, HasSubstr("sysctl fs.inotify.max_user_instances=128"));
  EXPECT_THAT(outcome.out, HasSubstr("overlay selinux"));
}

TEST_F(DoctorTest, AsksTenond) {
  StartKubelet();
  admin::HttpServer server(*loop);
  ASSERT_TRUE(server.ListenUnix(directory + "/tenond.sock"));
  server.Route("GET", "/api/v1/status", [](const admin::HttpRequest&, admin::Responder to) {
    to.Send({.body = R"({"version":"0.1.0","ready":false,"configErrors":["c.yaml:3:1: no such key"],
      "resources":[
        {"name":"example.com/a","state":"waiting","detail":"refused: no"},
        {"name":"example.com/b","state":"streaming","devices":[
          {"id":"tty1","health":"Healthy"},{"id":"tty2","health":"Unhealthy","reason":"is gone"}]}]})"});
  });

  const Outcome outcome = Examine();

  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.out, HasSubstr("c.yaml:3:1: no such key"));
  EXPECT_THAT(outcome.out,
              HasSubstr("example.com/a is not with the kubelet: waiting, refused: no"));
  EXPECT_THAT(outcome.out, HasSubstr("example.com/b: 1 of 2 devices unhealthy, tty2: is gone"));
}

TEST_F(DoctorTest, ReadsTheConfigurationAsTenondDoes) {
  StartKubelet();
  const std::string bad = WriteFile(
      "bad.yaml", "domain: example.com\nresources: [{name: x, devices: [{path: /srv/x}]}]\n");

  const Outcome outcome = Examine({"--config", bad, "-o", "json"});

  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.out, HasSubstr(R"("what": "configuration")"));
  EXPECT_THAT(outcome.out, HasSubstr(bad + ":2:"));
  EXPECT_EQ(0, Examine({"--config", bad, "--allow-path", "/srv"}).code);
}

}  // namespace
}  // namespace tenon::cli_test
