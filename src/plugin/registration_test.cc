#include "plugin/registration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <tuple>
#include <vector>

namespace tenon::plugin {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using State = Registration::State;

/// The three ports in one: what they are asked for stands in `asked`, in order.
struct World final : KubeletDirectory, PluginSocket, KubeletClient {
  struct Call final : RegisterCall {
    explicit Call(World& w) : world(w) {}
    ~Call() override {
      world.asked.emplace_back(world.in_done ? "done" : "give up");
      world.done = nullptr;
    }
    World& world;
  };

  DirectoryView Look() override { return view; }
  Result<void> Serve() override {
    asked.emplace_back("serve");
    if (serve_error) return Error(*serve_error);
    ours = true;
    return {};
  }
  void Stop() override { ours = false; }
  bool IsOurs() const override { return ours; }
  void EndStreams() override { asked.emplace_back("end streams"); }
  std::unique_ptr<RegisterCall> Register(Done callback) override {
    asked.emplace_back("register");
    done = std::move(callback);
    return std::make_unique<Call>(*this);
  }

  void Answer(Result<void> result) {
    in_done = true;
    auto callback = std::move(done);
    callback(std::move(result));
    in_done = false;
  }

  DirectoryView view{.directory = 1, .kubelet_socket = 1, .trouble = ""};
  bool ours = false;
  std::optional<Error> serve_error;
  Done done;
  bool in_done = false;
  std::vector<std::string> asked;
};

struct RegistrationTest : ::testing::Test {
  RegistrationTest() {
    registration.SetOnChange([this](State, State now) { states.push_back(now); });
  }

  /// Brings it into `state` by the shortest way.
  void BringTo(State state) {
    if (state == State::kStopped) return;
    if (state == State::kWaitingForDirectory) world.view = {0, 0, "stat /x: gone"};
    if (state == State::kWaitingForKubelet) world.view.kubelet_socket = 0;
    registration.Start();
    if (state == State::kWaitingToRetry) Refuse("no");
    if (state == State::kRegistered || state == State::kStreaming) world.Answer({});
    if (state == State::kStreaming) registration.OnStreamOpened(1);
    ASSERT_EQ(state, registration.state());
    world.asked.clear();
    states.clear();
  }
  void Refuse(std::string_view why) { world.Answer(Error(Code::kUnavailable, std::string(why))); }

  World world;
  loop::TimerQueue timers{base::MonotonicTime{}};
  base::RecordingLog log;
  Registration registration{{.resource = "example.com/a"}, timers, log, world, world, world};
  std::vector<State> states;
};

TEST_F(RegistrationTest, ServesItsOwnSocketBeforeItRegisters) {
  registration.Start();
  EXPECT_THAT(world.asked, ElementsAre("serve", "register"));

  world.Answer({});
  EXPECT_FALSE(registration.ready());

  registration.OnStreamOpened(1);
  EXPECT_TRUE(registration.ready());
  EXPECT_THAT(states, ElementsAre(State::kRegistering, State::kRegistered, State::kStreaming));
  EXPECT_EQ("", registration.detail());
}

TEST_F(RegistrationTest, AKubeletMayOpenTheStreamBeforeItsAnswerIsSeen) {
  registration.Start();
  registration.OnStreamOpened(1);
  EXPECT_FALSE(registration.ready());

  world.Answer({});

  EXPECT_THAT(states, ElementsAre(State::kRegistering, State::kStreaming));
}

TEST_F(RegistrationTest, WaitsAMinuteForAKubeletAndRegistersOnceItIsThere) {
  BringTo(State::kWaitingForKubelet);
  for (int second = 0; second < 60; ++second) {
    timers.Advance(seconds(1));
    registration.Check();
  }
  EXPECT_THAT(world.asked, IsEmpty());
  EXPECT_FALSE(registration.ready());
  EXPECT_EQ("there is no kubelet.sock", registration.detail());

  world.view.kubelet_socket = 5;
  registration.Check();

  EXPECT_THAT(world.asked, ElementsAre("serve", "register"));
}

TEST_F(RegistrationTest, RefusedFiveTimesItTriesASixthTimeAndLogsEachTextOnce) {
  registration.Start();
  for (int i = 0; i < 5; ++i) {
    Refuse(i == 2 ? "busy" : "no");
    EXPECT_FALSE(registration.ready());
    timers.Advance(seconds(1));
    ASSERT_EQ(State::kRegistering, registration.state());
  }
  world.Answer({});
  registration.OnStreamOpened(1);

  EXPECT_TRUE(registration.ready());
  EXPECT_THAT(log.lines(),
              ElementsAre(HasSubstr("error=\"register with kubelet: no\""),
                          HasSubstr("error=\"register with kubelet: busy\""),
                          HasSubstr("the kubelet has the resource resource=example.com/a")));
}

TEST_F(RegistrationTest, BackOffGrowsToTenSecondsAndNeverEnds) {
  registration.Start();
  base::Duration longest{};
  for (int i = 0; i < 100; ++i) {
    Refuse("no");
    base::MonotonicTime start = timers.now();
    timers.AdvanceTo(*timers.next_deadline());
    longest = std::max(longest, timers.now() - start);
    ASSERT_EQ(State::kRegistering, registration.state());
    if (i == 0) {
      EXPECT_LE(longest, milliseconds(10));
    }
  }
  EXPECT_GE(longest, seconds(5));
  EXPECT_LE(longest, seconds(10));
}

TEST_F(RegistrationTest, ALostStreamIsMendedWithinASecondThoughTheSocketsStay) {
  BringTo(State::kStreaming);

  registration.OnStreamClosed(1);
  EXPECT_EQ(State::kWaitingToRetry, registration.state());
  EXPECT_EQ("the kubelet closed the stream", registration.detail());
  timers.Advance(seconds(1));

  EXPECT_THAT(world.asked, ElementsAre("end streams", "register"));
}

TEST_F(RegistrationTest, AStreamThatKeepsBreakingIsMendedWithinTenSecondsEachTime) {
  BringTo(State::kStreaming);
  base::Duration longest{};
  for (int i = 0; i < 20; ++i) {
    registration.OnStreamClosed(1);
    base::MonotonicTime start = timers.now();
    timers.AdvanceTo(*timers.next_deadline());
    longest = std::max(longest, timers.now() - start);
    world.Answer({});
    registration.OnStreamOpened(1);
  }
  EXPECT_GE(longest, seconds(5));
  EXPECT_LE(longest, seconds(10));

  timers.Advance(seconds(30));
  registration.OnStreamClosed(1);

  EXPECT_LE(*timers.next_deadline() - timers.now(), seconds(1));
}

TEST_F(RegistrationTest, AcceptedButNeverAskedForTheListItRegistersAgain) {
  BringTo(State::kRegistered);

  timers.Advance(seconds(10));
  EXPECT_EQ(State::kWaitingToRetry, registration.state());
  EXPECT_THAT(registration.detail(), HasSubstr("opened no stream"));
  timers.Advance(seconds(1));

  EXPECT_THAT(world.asked, ElementsAre("end streams", "register"));
}

TEST_F(RegistrationTest, OnlyTheFirstStreamAfterRegisterIsTheKubelets) {
  BringTo(State::kStreaming);

  registration.OnStreamOpened(2);
  registration.OnStreamClosed(2);
  EXPECT_TRUE(registration.ready());

  registration.OnStreamOpened(3);
  registration.OnStreamClosed(1);
  EXPECT_FALSE(registration.ready());
}

TEST_F(RegistrationTest, WhileOnlyKubeletSockIsGoneTheLiveStreamCounts) {
  BringTo(State::kStreaming);

  world.view.kubelet_socket = 0;
  registration.Check();
  EXPECT_TRUE(registration.ready());

  world.view.kubelet_socket = 2;
  registration.Check();
  EXPECT_THAT(world.asked, ElementsAre("end streams", "register"));
  EXPECT_FALSE(registration.ready());
}

TEST_F(RegistrationTest, ALostStreamWithoutKubeletSockWaitsForTheKubelet) {
  BringTo(State::kStreaming);
  world.view.kubelet_socket = 0;
  registration.Check();

  registration.OnStreamClosed(1);
  timers.Advance(seconds(1));

  EXPECT_EQ(State::kWaitingForKubelet, registration.state());
}

TEST_F(RegistrationTest, AKubeletRestartThatWipesTheDirectoryEndsInOneNewCycle) {
  BringTo(State::kStreaming);

  world.ours = false;
  world.view.kubelet_socket = 0;
  registration.Check();
  EXPECT_EQ(State::kWaitingForKubelet, registration.state());

  world.view.kubelet_socket = 2;
  registration.Check();
  registration.Check();
  EXPECT_THAT(world.asked, ElementsAre("serve", "register"));
}

TEST_F(RegistrationTest, ANewKubeletEndsTheBackOffAndTheRegisterUnderWay) {
  registration.Start();
  for (int i = 0; i < 12; ++i) {
    Refuse("no");
    timers.Advance(seconds(10));
  }
  world.asked.clear();

  world.view.kubelet_socket = 2;
  registration.Check();
  EXPECT_THAT(world.asked, ElementsAre("give up", "end streams", "register"));

  Refuse("no");
  EXPECT_LE(*timers.next_deadline() - timers.now(), milliseconds(10));
}

TEST_F(RegistrationTest, ASocketThatCannotBeMadeIsTriedAgain) {
  world.serve_error = Error(Code::kResourceExhausted, "bind /x: No space left on device");
  registration.Start();
  EXPECT_EQ("serve: bind /x: No space left on device", registration.detail());
  registration.Check();
  EXPECT_THAT(world.asked, ElementsAre("serve"));

  world.serve_error.reset();
  timers.Advance(seconds(1));

  EXPECT_THAT(world.asked, ElementsAre("serve", "serve", "register"));
}

TEST_F(RegistrationTest, AReplacedDirectoryGetsASocketOfItsOwn) {
  BringTo(State::kStreaming);

  world.ours = false;
  world.view = {.directory = 2, .kubelet_socket = 7, .trouble = ""};
  registration.Check();

  EXPECT_THAT(world.asked, ElementsAre("serve", "register"));
}

TEST_F(RegistrationTest, AfterStopNothingHappensAndItCanStartAgain) {
  BringTo(State::kStreaming);
  registration.Stop();

  registration.Check();
  registration.OnStreamClosed(1);
  registration.OnStreamOpened(2);
  timers.Advance(seconds(60));
  EXPECT_EQ(State::kStopped, registration.state());
  EXPECT_THAT(world.asked, IsEmpty());
  EXPECT_TRUE(world.ours);

  registration.Start();
  EXPECT_EQ(State::kRegistering, registration.state());
}

TEST_F(RegistrationTest, DestroyedDuringRegisterItGivesTheCallUp) {
  {
    Registration short_lived{{}, timers, log, world, world, world};
    short_lived.Start();
  }
  EXPECT_THAT(world.asked, ElementsAre("serve", "register", "give up"));
  EXPECT_EQ(std::nullopt, timers.next_deadline());
}

/// Every event in every state: where it leads.
enum class Event {
  kNothingChanged,
  kDirectoryMissing,
  kDirectoryReplaced,
  kKubeletGone,
  kKubeletNew,
  kSocketRemoved,
  kStreamOpened,
  kStreamClosed,
  kTenSeconds,
  kStop,
};

constexpr std::array kStates = {
    State::kStopped,     State::kWaitingForDirectory, State::kWaitingForKubelet,
    State::kRegistering, State::kWaitingToRetry,      State::kRegistered,
    State::kStreaming,
};

struct Row {
  Event event;
  std::array<State, kStates.size()> leads_to;  ///< In the order of kStates.
};

// clang-format off
constexpr auto kStp = State::kStopped;
constexpr auto kDir = State::kWaitingForDirectory;
constexpr auto kKub = State::kWaitingForKubelet;
constexpr auto kIng = State::kRegistering;
constexpr auto kTry = State::kWaitingToRetry;
constexpr auto kReg = State::kRegistered;
constexpr auto kStr = State::kStreaming;
constexpr std::array kTable = {
    //                              kStp  kDir  kKub  kIng  kTry  kReg  kStr
    Row{Event::kNothingChanged,    {kStp, kDir, kKub, kIng, kTry, kReg, kStr}},
    Row{Event::kDirectoryMissing,  {kStp, kDir, kDir, kDir, kDir, kDir, kDir}},
    Row{Event::kDirectoryReplaced, {kStp, kIng, kIng, kIng, kIng, kIng, kIng}},
    Row{Event::kKubeletGone,       {kStp, kKub, kKub, kKub, kKub, kKub, kStr}},
    Row{Event::kKubeletNew,        {kStp, kIng, kIng, kIng, kIng, kIng, kIng}},
    Row{Event::kSocketRemoved,     {kStp, kDir, kKub, kIng, kTry, kIng, kIng}},
    Row{Event::kStreamOpened,      {kStp, kDir, kKub, kIng, kTry, kStr, kStr}},
    Row{Event::kStreamClosed,      {kStp, kDir, kKub, kIng, kTry, kReg, kTry}},
    // The port's Register has its own deadline, hence no timer while registering.
    Row{Event::kTenSeconds,        {kStp, kDir, kKub, kIng, kIng, kTry, kStr}},
    Row{Event::kStop,              {kStp, kStp, kStp, kStp, kStp, kStp, kStp}},
};
// clang-format on

struct RegistrationTableTest : RegistrationTest,
                               ::testing::WithParamInterface<std::tuple<size_t, size_t>> {
  void Apply(Event event) {
    switch (event) {
      case Event::kNothingChanged:
        return registration.Check();
      case Event::kDirectoryMissing:
        world.view = {0, 0, "stat /x: gone"};
        world.ours = false;
        return registration.Check();
      case Event::kDirectoryReplaced:
        world.view = {.directory = 9, .kubelet_socket = 9, .trouble = ""};
        world.ours = false;
        return registration.Check();
      case Event::kKubeletGone:
        world.view = {.directory = 1, .kubelet_socket = 0, .trouble = ""};
        return registration.Check();
      case Event::kKubeletNew:
        world.view = {.directory = 1, .kubelet_socket = 8, .trouble = ""};
        return registration.Check();
      case Event::kSocketRemoved:
        world.ours = false;
        return registration.Check();
      case Event::kStreamOpened:
        return registration.OnStreamOpened(4);
      case Event::kStreamClosed:
        return registration.OnStreamClosed(1);
      case Event::kTenSeconds:
        return timers.Advance(seconds(10));
      case Event::kStop:
        return registration.Stop();
    }
  }
};

TEST_P(RegistrationTableTest, LeadsWhereTheTableSays) {
  const auto [row, column] = GetParam();
  BringTo(kStates.at(column));

  Apply(kTable.at(row).event);

  EXPECT_EQ(kTable.at(row).leads_to.at(column), registration.state())
      << "from " << StateName(kStates.at(column)) << " came " << StateName(registration.state());
  EXPECT_EQ(registration.state() == State::kStreaming, registration.ready());
}

INSTANTIATE_TEST_SUITE_P(EveryPair, RegistrationTableTest,
                         ::testing::Combine(::testing::Range<size_t>(0, kTable.size()),
                                            ::testing::Range<size_t>(0, kStates.size())));

}  // namespace
}  // namespace tenon::plugin
