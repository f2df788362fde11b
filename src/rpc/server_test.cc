// The server as the owner of a socket and of descriptors.

#include "rpc/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <vector>

#include "base/sanitized_for_test.h"
#include "loop/unix_socket.h"
#include "rpc/raw_peer.h"
#include "rpc/test_dir.h"

namespace tenon::rpc {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::StartsWith;

/// Time by hand.
struct ServerTest : ::testing::Test {
  ServerTest() {
    server->AddUnary("/t.S/Echo", [](std::string_view request, std::unique_ptr<UnaryCall> call) {
      call->Reply(std::string(request));
    });
  }
  void Settle() {
    for (int i = 0; i < 8; ++i) {
      // A timer keeps the loop from waiting for time that does not pass by itself.
      auto now = loop->timers().After(base::Duration::zero(), [] {});
      loop->RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                     seconds(1));
    }
  }
  TestDir dir;
  base::FakeClock clock;
  base::RecordingLog log;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<Server> server = *Server::Listen(*loop, log, dir / "s", {});
};

/// Leaves the process no descriptor to open.
class NoDescriptors final {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(ServerTest, WithoutDescriptorsItWaitsInsteadOfSpinningAndSaysSoOnce) {
  if (base::kSanitized)
    GTEST_SKIP() << "the sanitizer opens descriptors of its own to look at objects";
  RawPeer peer(*loop::ConnectUnix(dir / "s"));
  peer.Send(RawPeer::Preface() + RawPeer::Call(1, "/t.S/Echo", "x"));
  {
    NoDescriptors none;
    Settle();
    clock.Advance(seconds(1));
    Settle();
  }
  EXPECT_THAT(log.lines(), ElementsAre(StartsWith("ERROR cannot accept connections")));
  // Nothing is left to do until the pause ends.
  EXPECT_GT(*loop->timers().next_deadline(), clock.Now());

  clock.Advance(seconds(1));
  Settle();

  peer.Read();
  EXPECT_EQ("0", peer.HeadersOf(1)["grpc-status"]);
}

TEST_F(ServerTest, KnowsWhetherTheSocketIsItsOwn) {
  EXPECT_TRUE(server->socket_is_ours());
  EXPECT_EQ(dir / "s", server->path());
  std::filesystem::remove(dir / "s");
  EXPECT_FALSE(server->socket_is_ours());
  auto successor = *Server::Listen(*loop, log, dir / "s", {});

  server.reset();

  EXPECT_TRUE(successor->socket_is_ours());
}

TEST_F(ServerTest, RefusesASocketThatIsInUse) {
  auto second = Server::Listen(*loop, log, dir / "s", {});

  ASSERT_FALSE(second);
  EXPECT_EQ(Code::kFailedPrecondition, second.error().code());
}

TEST_F(ServerTest, TheSocketHasTheModeAskedFor) {
  auto open = *Server::Listen(*loop, log, dir / "open", {.socket_mode = 0666});

  EXPECT_EQ(std::filesystem::perms(0600), std::filesystem::status(dir / "s").permissions());
  EXPECT_EQ(std::filesystem::perms(0666), std::filesystem::status(dir / "open").permissions());
}

}  // namespace
}  // namespace tenon::rpc
