// What must stay flat however long a process runs: descriptors and memory. TENON_LONG=1 runs the
// full counts, otherwise it is one per cent.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "base/sanitized_for_test.h"
#include "loop/unix_socket.h"
#include "rpc/channel.h"
#include "rpc/raw_peer.h"
#include "rpc/server.h"
#include "rpc/test_dir.h"

namespace tenon::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

int Count(int all) {
  return std::getenv("TENON_LONG") != nullptr ? all : all / 100;
}

long OpenDescriptors() {
  auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

long ResidentKiB() {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * (::sysconf(_SC_PAGESIZE) / 1024);
}

struct EnduranceTest : ::testing::Test {
  EnduranceTest() {
    server->AddUnary("/s.S/M", [](std::string_view request, std::unique_ptr<UnaryCall> call) {
      call->Reply(std::string(request));
    });
  }
  bool Run(const std::function<bool()>& done) { return loop->RunUntil(done, seconds(600)); }
  void Settle() {
    loop->RunUntil([] { return false; }, milliseconds(20));
  }

  /// Does `work(count)` for one part in ten, then for the rest, after which nothing may have grown.
  void ExpectFlat(int count, const std::function<void(int)>& work) {
    work(count / 10);
    Settle();
    long descriptors = OpenDescriptors();
    long resident = ResidentKiB();

    work(count - count / 10);
    Settle();

    EXPECT_EQ(descriptors, OpenDescriptors());
    EXPECT_TRUE(base::kSanitized || ResidentKiB() <= resident + 512)
        << resident << " KiB, then " << ResidentKiB();
  }

  TestDir dir;
  base::SystemClock clock;
  base::NullLog log;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<Server> server = *Server::Listen(*loop, log, dir / "s", {});
};

TEST_F(EnduranceTest, TenThousandConnectionsLeaveNothingBehind) {
  ExpectFlat(Count(10'000), [&](int count) {
    for (int i = 0; i < count; ++i) {
      auto channel = Channel::Connect(*loop, dir / "s", {});
      bool ok = false;
      auto call =
          channel->Unary("/s.S/M", "x", seconds(10),
                         [&](const Status& status, const std::string&) { ok = status.ok(); });
      ASSERT_TRUE(Run([&] { return ok; }));
    }
  });
}

TEST_F(EnduranceTest, TenThousandConnectionsThatAreCutOffLeaveNothingBehind) {
  std::string request = RawPeer::Preface() + RawPeer::Call(1, "/s.S/M", std::string(500, 'x'));
  ExpectFlat(Count(10'000), [&](int count) {
    for (int i = 0; i < count; ++i) {
      auto socket = loop::ConnectUnix(dir / "s");
      ASSERT_TRUE(socket);
      RawPeer peer(*std::move(socket));
      // Dies in the midst of it, somewhere else each time; now and then it is nonsense.
      std::string bytes = request.substr(0, static_cast<size_t>(i) % request.size());
      peer.Send(i % 7 == 0 ? bytes + "nonsense" : bytes);
      loop->RunUntil([turned = 0]() mutable { return turned++ > 1; }, milliseconds(1));
    }
  });
}

TEST_F(EnduranceTest, AMillionCallsLeaveNothingBehind) {
  auto channel = Channel::Connect(*loop, dir / "s", {});
  ExpectFlat(Count(1'000'000), [&](int count) {
    int started = 0;
    int done = 0;
    std::vector<std::unique_ptr<ClientCall>> calls(16);
    std::function<void(size_t)> next = [&](size_t slot) {
      if (started == count) return;
      ++started;
      calls[slot] = channel->Unary("/s.S/M", "x", seconds(10),
                                   [&, slot](const Status& status, const std::string&) {
                                     done += status.ok();
                                     next(slot);
                                   });
    };
    for (size_t slot = 0; slot < calls.size(); ++slot)
      next(slot);
    EXPECT_TRUE(Run([&] { return done == count; }));
  });
}

}  // namespace
}  // namespace tenon::rpc
