#include "tenon/kubelet/pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "base/strings.h"
#include "tenon/kubelet/crash_backoff.h"
#include "tenon/kubelet/fakes_for_test.h"

namespace tenon::kubelet {
namespace {

using pod::Phase;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Kind = pod::ContainerState::Kind;

const Pods::Key kCamera = {"default", "camera"};

pod::Pod MakePod(const std::vector<std::string>& init, const std::vector<std::string>& apps) {
  pod::Pod out{.name = "camera", .uid = "u"};
  const auto add = [](std::vector<pod::Container>& to, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      to.push_back({.name = name, .image = "image", .command = {"/bin/true"}});
    }
  };
  add(out.init_containers, init);
  add(out.containers, apps);
  return out;
}

std::string Last(const std::vector<std::string>& asked) {
  return asked.empty() ? "" : asked.back();
}

struct PodsTest : FakePodWorld {
  std::unique_ptr<Pods> pods = std::make_unique<Pods>(Environment());
  int created = 0;
  int gone = 0;

  Result<void> Create(pod::Pod pod) {
    return pods->Create({std::move(pod)}, [this](const std::vector<Pods::Key>&) { ++created; });
  }
  void CreateAndWait(pod::Pod pod) {
    const int before = created;
    ASSERT_TRUE(Create(std::move(pod)));
    ASSERT_TRUE(Await([&] { return created > before; }));
  }
  void Delete(std::chrono::seconds grace) {
    pods->Delete(kCamera, grace, [this] { ++gone; });
  }
  const PodRecord& Record() const { return pods->Find(kCamera)->record(); }
  const pod::ContainerState& State(size_t i) const { return Record().status.containers[i].state; }
  bool AwaitPhase(Phase phase) {
    return Await([this, phase] { return Record().status.phase == phase; });
  }
  /// The kubelet is killed and started again.
  Result<void> Restart() {
    Settle();  // What was saved is on disk.
    pods.reset();
    pods = std::make_unique<Pods>(Environment());
    runtime.asked.clear();
    devices.asked.clear();
    return pods->Load();
  }
};

TEST_F(PodsTest, InitContainersRunOneAfterTheOtherAndThenTheOthersTogether) {
  CreateAndWait(MakePod({"first", "second"}, {"a", "b"}));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.first"); }));
  EXPECT_EQ(Record().status.phase, Phase::kPending);
  EXPECT_EQ(State(0).reason, "PodInitializing");

  runtime.End("u.first", 0);
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.second"); }));
  EXPECT_FALSE(runtime.Knows("u.first"));
  runtime.End("u.second", 0);
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.a") && runtime.Runs("u.b"); }));
  ASSERT_TRUE(AwaitPhase(Phase::kRunning));
  runtime.End("u.b", 0);
  runtime.End("u.a", 0);

  ASSERT_TRUE(AwaitPhase(Phase::kSucceeded));
  EXPECT_EQ(State(0).reason, "Completed");
  EXPECT_EQ(State(0).exit_code, 0);
}

TEST_F(PodsTest, AFailedInitContainerFailsThePodAndTheOthersNeverStart) {
  CreateAndWait(MakePod({"probe"}, {"main"}));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.probe"); }));

  runtime.End("u.probe", 4);

  ASSERT_TRUE(AwaitPhase(Phase::kFailed));
  EXPECT_EQ(Record().status.init_containers[0].state.exit_code, 4);
  EXPECT_EQ(State(0).kind, Kind::kWaiting);
  EXPECT_THAT(runtime.asked, ElementsAre("create u.probe", "start u.probe", "delete u.probe"));
}

TEST_F(PodsTest, AContainerThatFailsFailsThePodOnceAllHaveEnded) {
  CreateAndWait(MakePod({}, {"a", "b"}));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.a") && runtime.Runs("u.b"); }));

  runtime.End("u.a", 3);
  ASSERT_TRUE(Await([this] { return State(0).kind == Kind::kTerminated; }));
  EXPECT_EQ(Record().status.phase, Phase::kRunning);
  runtime.End("u.b", 0);

  ASSERT_TRUE(AwaitPhase(Phase::kFailed));
  EXPECT_EQ(State(0).reason, "Error");
}

TEST_F(PodsTest, DevicesAreFreedWhenTheRuntimeHasRemovedTheLastContainerAndNotBefore) {
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
  EXPECT_EQ(Record().status.containers[0].allocated_devices[0].device_ids[0], "dev-main");
  runtime.hold_deletes = true;

  runtime.End("u.main", 0);
  ASSERT_TRUE(Await([this] { return State(0).kind == Kind::kTerminated; }));
  EXPECT_EQ(Record().status.phase, Phase::kRunning);
  EXPECT_THAT(devices.asked, ElementsAre("admit u", "prepare u main"));
  runtime.ReleaseDeletes();

  ASSERT_TRUE(AwaitPhase(Phase::kSucceeded));
  EXPECT_THAT(devices.asked, ElementsAre("admit u", "prepare u main", "remove u"));
  EXPECT_THAT(Record().status.containers[0].allocated_devices, IsEmpty());
}

TEST_F(PodsTest, APodThatIsRefusedIsFailedForGoodAndNothingOfItIsMade) {
  devices.refusal = {.reason = "UnexpectedAdmissionError", .message = "Allocate failed due to x"};

  CreateAndWait(MakePod({}, {"main"}));

  EXPECT_EQ(Record().status.phase, Phase::kFailed);
  EXPECT_EQ(Record().status.reason, "UnexpectedAdmissionError");
  EXPECT_EQ(Record().status.message, "Pod was rejected: Allocate failed due to x");
  EXPECT_THAT(Record().status.containers, IsEmpty());
  EXPECT_THAT(runtime.asked, IsEmpty());
}

TEST_F(PodsTest, APodWhoseRecordCannotBeWrittenIsRefused) {
  std::ofstream(pods_directory() + "/u") << "in the way";

  CreateAndWait(MakePod({}, {"main"}));

  EXPECT_EQ(Record().status.phase, Phase::kFailed);
  EXPECT_THAT(Record().status.message, HasSubstr("/u"));
  EXPECT_THAT(runtime.asked, IsEmpty());
}

TEST_F(PodsTest, WhatCanBeMendedIsShownAndTriedAgain) {
  devices.prepare_error = "device node at \"/dev/x\": gone";
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(Await([this] { return State(0).reason == "CreateContainerConfigError"; }));
  EXPECT_EQ(State(0).message, "device node at \"/dev/x\": gone");
  EXPECT_EQ(Record().status.phase, Phase::kPending);

  devices.prepare_error.clear();

  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
}

TEST_F(PodsTest, AnImageThatIsMissingIsWaitedFor) {
  runtime.create_error = "no such directory";
  runtime.create_code = Code::kNotFound;
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(Await([this] { return State(0).reason == "ErrImageNeverPull"; }));
  EXPECT_EQ(
      State(0).message,
      "Container image \"image\" is not present with pull policy of Never: no such directory");

  runtime.create_error.clear();

  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
}

TEST_F(PodsTest, ARuntimeThatIsNotThereIsWaitedFor) {
  runtime.create_error = "connection refused";
  runtime.create_code = Code::kUnavailable;
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(Await([this] { return State(0).reason == "CreateContainerError"; }));
  EXPECT_EQ(State(0).message, "connection refused");

  runtime.create_error.clear();

  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
}

TEST_F(PodsTest, AContainerThatEndsIsStartedAgainIfItsPodSaysSo) {
  pod::Pod pod = MakePod({}, {"main"});
  pod.restart_policy = pod::RestartPolicy::kAlways;
  CreateAndWait(std::move(pod));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));

  runtime.End("u.main", 0);
  ASSERT_TRUE(Await([this] { return Record().status.containers[0].restart_count == 1; }));
  ASSERT_TRUE(Await([this] { return State(0).kind == Kind::kRunning; }));

  const pod::ContainerStatus& status = Record().status.containers[0];
  ASSERT_TRUE(status.last_state);
  EXPECT_EQ(status.last_state->reason, "Completed");
  EXPECT_EQ(Record().status.phase, Phase::kRunning);
  EXPECT_THAT(devices.asked, ElementsAre("admit u", "prepare u main", "prepare u main"));
  EXPECT_THAT(status.allocated_devices[0].device_ids, ElementsAre("dev-main"));
}

TEST_F(PodsTest, AfterItsSecondEndAContainerWaitsAndThePodGoesOnRunning) {
  pod::Pod pod = MakePod({}, {"main"});
  pod.restart_policy = pod::RestartPolicy::kOnFailure;
  CreateAndWait(std::move(pod));
  for (int end = 0; end < 2; ++end) {
    ASSERT_TRUE(Await([this] { return State(0).kind == Kind::kRunning; }));
    runtime.End("u.main", 7);
    ASSERT_TRUE(
        Await([this, end] { return Record().status.containers[0].restart_count == end + 1; }));
  }

  ASSERT_TRUE(Await([this] { return State(0).reason == "CrashLoopBackOff"; }));
  EXPECT_EQ(State(0).message,
            "back-off 10s restarting failed container=main pod=camera_default(u)");
  EXPECT_EQ(Record().status.containers[0].last_state->exit_code, 7);
  EXPECT_EQ(Record().status.phase, Phase::kRunning);

  // Another kubelet does not know how long it has waited, and what it was is not looked for.
  ASSERT_TRUE(Restart());
  ASSERT_TRUE(Await([this] { return State(0).kind == Kind::kRunning; }));
  EXPECT_EQ(Record().status.containers[0].restart_count, 2);
  runtime.End("u.main", 0);
  ASSERT_TRUE(AwaitPhase(Phase::kSucceeded));
}

TEST_F(PodsTest, APodCanBeDeletedWhileItsContainerWaitsToBeStartedAgain) {
  pod::Pod pod = MakePod({}, {"main"});
  pod.restart_policy = pod::RestartPolicy::kAlways;
  CreateAndWait(std::move(pod));
  for (int end = 0; end < 2; ++end) {
    ASSERT_TRUE(Await([this] { return State(0).kind == Kind::kRunning; }));
    runtime.End("u.main", 7);
    ASSERT_TRUE(
        Await([this, end] { return Record().status.containers[0].restart_count == end + 1; }));
  }

  Delete(std::chrono::seconds(30));

  ASSERT_TRUE(Await([this] { return gone == 1; }));
  EXPECT_THAT(runtime.known(), IsEmpty());
  EXPECT_THAT(runtime.removed_pods, ElementsAre("u"));
}

TEST_F(PodsTest, AnInitContainerThatFailsIsStartedAgainUnlessThePolicyIsNever) {
  pod::Pod pod = MakePod({"probe"}, {"main"});
  pod.restart_policy = pod::RestartPolicy::kAlways;
  CreateAndWait(std::move(pod));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.probe"); }));

  runtime.End("u.probe", 4);
  ASSERT_TRUE(Await([this] { return Record().status.init_containers[0].restart_count == 1; }));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.probe"); }));
  EXPECT_EQ(Record().status.phase, Phase::kPending);
  runtime.End("u.probe", 0);

  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
}

/// Sidecars "one" and "two", an init container between them, and a container "main".
pod::Pod MakeSidecarPod() {
  pod::Pod pod = MakePod({"one", "first", "two"}, {"main"});
  pod.init_containers[0].sidecar = pod.init_containers[2].sidecar = true;
  return pod;
}

TEST_F(PodsTest, ASidecarRunsBesideThoseThatStartAfterItAndEndsAfterThem) {
  CreateAndWait(MakeSidecarPod());
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.first"); }));
  EXPECT_TRUE(runtime.Runs("u.one"));
  EXPECT_FALSE(runtime.Knows("u.two"));
  EXPECT_EQ(Record().status.phase, Phase::kPending);
  runtime.End("u.first", 0);
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
  EXPECT_TRUE(runtime.Runs("u.two"));
  ASSERT_TRUE(AwaitPhase(Phase::kRunning));

  runtime.End("u.main", 0);
  ASSERT_TRUE(AwaitPhase(Phase::kSucceeded));

  EXPECT_THAT(runtime.known(), IsEmpty());
  EXPECT_THAT(runtime.asked,
              ElementsAre("create u.one", "start u.one", "create u.first", "start u.first",
                          "delete u.first", "create u.two", "start u.two", "create u.main",
                          "start u.main", "delete u.main", "delete u.two", "delete u.one"));
  EXPECT_EQ(Record().status.init_containers[0].state.exit_code, 143);
}

TEST_F(PodsTest, ASidecarThatEndsIsStartedAgainWhateverThePolicyAndHoldsNobodyUp) {
  CreateAndWait(MakeSidecarPod());
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.first"); }));
  runtime.End("u.one", 1);
  ASSERT_TRUE(Await([this] { return Record().status.init_containers[0].restart_count == 1; }));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.one"); }));
  runtime.End("u.one", 0);
  ASSERT_TRUE(Await(
      [this] { return Record().status.init_containers[0].state.reason == "CrashLoopBackOff"; }));

  runtime.End("u.first", 0);
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
  runtime.End("u.main", 3);

  ASSERT_TRUE(AwaitPhase(Phase::kFailed));
  EXPECT_THAT(runtime.known(), IsEmpty());
}

TEST_F(PodsTest, ASidecarThatCannotBeStartedHoldsUpThoseAfterIt) {
  runtime.start_error = "exec: no such file";
  CreateAndWait(MakeSidecarPod());
  ASSERT_TRUE(Await([this] { return Record().status.init_containers[0].restart_count == 1; }));
  EXPECT_EQ(Record().status.init_containers[0].last_state->reason, "StartError");
  EXPECT_EQ(Record().status.phase, Phase::kPending);
  EXPECT_THAT(runtime.asked, Not(::testing::Contains("create u.first")));

  Delete(std::chrono::seconds(0));

  ASSERT_TRUE(Await([this] { return gone == 1; }));
}

TEST_F(PodsTest, AFailedInitContainerEndsTheSidecarsToo) {
  CreateAndWait(MakeSidecarPod());
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.first"); }));

  runtime.End("u.first", 4);

  ASSERT_TRUE(AwaitPhase(Phase::kFailed));
  EXPECT_THAT(runtime.known(), IsEmpty());
  EXPECT_EQ(State(0).kind, Kind::kWaiting);
}

TEST_F(PodsTest, ASidecarIsStoppedWhenThoseAfterItHaveEndedAndItsGraceIsThatOfThePod) {
  runtime.ignore_sigterm = true;
  CreateAndWait(MakeSidecarPod());
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.first"); }));
  runtime.End("u.first", 0);
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
  ASSERT_TRUE(AwaitPhase(Phase::kRunning));

  Delete(std::chrono::seconds(3600));
  Settle();
  EXPECT_TRUE(runtime.Runs("u.main") && runtime.Runs("u.two") && runtime.Runs("u.one"));
  runtime.End("u.main", 0);
  ASSERT_TRUE(Await([this] { return !runtime.Knows("u.main"); }));
  Settle();
  EXPECT_TRUE(runtime.Runs("u.two") && runtime.Runs("u.one"));
  Delete(std::chrono::seconds(0));

  ASSERT_TRUE(Await([this] { return gone == 2; }));
  const std::vector<std::string> last(runtime.asked.end() - 3, runtime.asked.end());
  EXPECT_THAT(last, ElementsAre("delete u.main", "delete u.two", "delete u.one"));
}

TEST_F(PodsTest, SidecarsRunOnOverARestartAlsoOneInTheMiddleOfTheEnd) {
  CreateAndWait(MakeSidecarPod());
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.first"); }));
  runtime.End("u.first", 0);
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
  ASSERT_TRUE(AwaitPhase(Phase::kRunning));
  ASSERT_TRUE(Restart());
  ASSERT_TRUE(Await([this] { return Last(devices.asked) != "retain u"; }));
  EXPECT_EQ(Last(devices.asked), "admit u running one running two running main");
  EXPECT_EQ(Record().pod, MakeSidecarPod());

  runtime.hold_deletes = true;  // The pod ends, and stays at that.
  runtime.End("u.main", 0);
  ASSERT_TRUE(Await([this] { return Last(runtime.asked) == "delete u.main"; }));
  ASSERT_TRUE(Restart());
  runtime.ReleaseDeletes();

  ASSERT_TRUE(AwaitPhase(Phase::kSucceeded));
  EXPECT_THAT(runtime.known(), IsEmpty());
}

TEST_F(PodsTest, APodWithSidecarsCanBeDeletedAtEveryStepOfItsStart) {
  for (int turns = 0; turns < 40; turns += 2) {
    SCOPED_TRACE(turns);
    ASSERT_TRUE(Create(MakeSidecarPod()));
    for (int i = 0; i < turns; ++i)
      Turn();
    const int before = gone;

    Delete(std::chrono::seconds(0));

    ASSERT_TRUE(Await([this, before] { return gone == before + 1; }));
    EXPECT_THAT(runtime.known(), IsEmpty());
  }
}

TEST(CrashBackoffTest, ThePausesGrowToFiveMinutesAndARunOfTenMinutesEndsThem) {
  CrashBackoff backoff;
  const base::MonotonicTime start{std::chrono::hours(1)};
  std::vector<int64_t> pauses;
  for (int i = 0; i < 8; ++i) {
    pauses.push_back(std::chrono::duration_cast<std::chrono::seconds>(
                         backoff.Next(start, start + std::chrono::minutes(9)))
                         .count());
  }

  EXPECT_THAT(pauses, ElementsAre(0, 10, 20, 40, 80, 160, 300, 300));
  EXPECT_EQ(backoff.Next(start, start + std::chrono::minutes(11)), base::Duration::zero());
  EXPECT_EQ(backoff.Next(start, start), CrashBackoff::kFirst);
}

TEST_F(PodsTest, AContainerThatCannotBeMadeOrStartedHasFailed) {
  for (auto* error : {&runtime.create_error, &runtime.start_error}) {
    *error = "exec: no such file";
    CreateAndWait(MakePod({}, {"main"}));

    ASSERT_TRUE(AwaitPhase(Phase::kFailed));
    EXPECT_EQ(State(0).reason, "StartError");
    EXPECT_EQ(State(0).exit_code, 128);
    EXPECT_EQ(State(0).message, "exec: no such file");
    EXPECT_FALSE(runtime.Knows("u.main"));
    error->clear();
    Delete(std::chrono::seconds(0));
    ASSERT_TRUE(Await([this] { return !pods->Find(kCamera); }));
  }
}

TEST_F(PodsTest, AContainerThatEndsBeforeItsStartIsAnsweredHasRun) {
  runtime.end_at_start = 5;

  CreateAndWait(MakePod({}, {"main"}));

  ASSERT_TRUE(AwaitPhase(Phase::kFailed));
  EXPECT_EQ(State(0).exit_code, 5);
  EXPECT_EQ(State(0).reason, "Error");
}

TEST_F(PodsTest, DeletingEndsTheContainersFreesTheDevicesAndLeavesNothing) {
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));

  Delete(std::chrono::seconds(30));
  Delete(std::chrono::seconds(30));
  ASSERT_TRUE(Await([this] { return gone == 2; }));

  EXPECT_EQ(pods->Find(kCamera), nullptr);
  EXPECT_FALSE(runtime.Knows("u.main"));
  EXPECT_THAT(devices.asked, ::testing::Contains("remove u"));
  EXPECT_FALSE(std::filesystem::exists(pods_directory() + "/u"));
}

TEST_F(PodsTest, AContainerThatIgnoresSigtermIsKilledAfterTheGraceAndAShorterOneHolds) {
  runtime.ignore_sigterm = true;
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));

  Delete(std::chrono::seconds(3600));
  Settle();
  EXPECT_EQ(gone, 0);
  Delete(std::chrono::seconds(0));

  ASSERT_TRUE(Await([this] { return gone == 2; }));
}

TEST_F(PodsTest, APodCanBeDeletedAtEveryStepOfItsStart) {
  // Each turn of the loop takes the pod a little further.
  for (int turns = 0; turns < 20; ++turns) {
    SCOPED_TRACE(turns);
    ASSERT_TRUE(Create(MakePod({"first"}, {"main"})));
    for (int i = 0; i < turns; ++i)
      Turn();
    const int before = gone;

    Delete(std::chrono::seconds(0));

    ASSERT_TRUE(Await([this, before] { return gone == before + 1; }));
    EXPECT_EQ(pods->Find(kCamera), nullptr);
    EXPECT_THAT(runtime.known(), IsEmpty());
  }
  EXPECT_EQ(created, 20);
}

TEST_F(PodsTest, ANameOrUidThatIsTakenIsRefused) {
  CreateAndWait(MakePod({}, {"main"}));
  pod::Pod other = MakePod({}, {"main"});
  other.name = "other";

  EXPECT_EQ(Create(MakePod({}, {"main"})).error().message(), "pod default/camera already exists");
  EXPECT_EQ(Create(std::move(other)).error().message(),
            "pod default/other: another pod has the uid u");
  EXPECT_EQ(pods->all().size(), 1u);
}

TEST_F(PodsTest, WithoutARuntimePodsAreAdmittedAndWait) {
  pods = std::make_unique<Pods>(Environment(/*with_runtime=*/false));

  CreateAndWait(MakePod({}, {"main"}));
  Settle();

  EXPECT_EQ(Record().status.phase, Phase::kPending);
  EXPECT_THAT(State(0).message, HasSubstr("--runtime none"));
  EXPECT_FALSE(loop->timers().next_deadline()) << "it keeps trying";
  Delete(std::chrono::seconds(30));
  ASSERT_TRUE(Await([this] { return gone == 1; }));
}

TEST_F(PodsTest, ARestartLeavesRunningContainersAloneAndSeesThemEnd) {
  CreateAndWait(MakePod({"first"}, {"main"}));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.first"); }));
  runtime.End("u.first", 0);
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
  ASSERT_TRUE(AwaitPhase(Phase::kRunning));
  const base::WallTime started = State(0).started_at;

  ASSERT_TRUE(Restart());
  ASSERT_TRUE(
      Await([this] { return !devices.asked.empty() && devices.asked.back() != "retain u"; }));

  EXPECT_THAT(devices.asked, ElementsAre("retain u", "admit u running main"));
  EXPECT_THAT(runtime.asked, Not(::testing::Contains("create u.main")));
  EXPECT_EQ(State(0).kind, Kind::kRunning);
  EXPECT_EQ(base::FormatRfc3339(State(0).started_at), base::FormatRfc3339(started));
  runtime.End("u.main", 0);
  ASSERT_TRUE(AwaitPhase(Phase::kSucceeded));
}

TEST_F(PodsTest, AContainerThatEndedWhileNobodyLookedHasAnUnknownStatus) {
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
  ASSERT_TRUE(AwaitPhase(Phase::kRunning));
  Settle();
  pods.reset();
  runtime.End("u.main", 0);

  ASSERT_TRUE(Restart());

  ASSERT_TRUE(AwaitPhase(Phase::kFailed));
  EXPECT_EQ(State(0).reason, "ContainerStatusUnknown");
  EXPECT_EQ(State(0).exit_code, 137);
  EXPECT_FALSE(runtime.Knows("u.main"));
  EXPECT_TRUE(Await([this] { return Last(devices.asked) == "remove u"; }));
}

TEST_F(PodsTest, AContainerThatWasMadeAndNotStartedIsMadeAnew) {
  runtime.hold_starts = true;
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(Await([this] { return Last(runtime.asked) == "start u.main"; }));

  runtime.hold_starts = false;
  ASSERT_TRUE(Restart());
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));

  EXPECT_THAT(runtime.asked,
              ElementsAre("query u.main", "delete u.main", "create u.main", "start u.main"));
}

TEST_F(PodsTest, AContainerThatWasRemovedUnstartedWhenTheKubeletWasKilledAgainIsMadeAnew) {
  runtime.hold_starts = true;
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(Await([this] { return Last(runtime.asked) == "start u.main"; }));
  ASSERT_TRUE(Restart());
  runtime.hold_deletes = true;
  ASSERT_TRUE(Await([this] { return Last(runtime.asked) == "delete u.main"; }));
  runtime.ReleaseDeletes();
  ASSERT_FALSE(runtime.Knows("u.main"));

  runtime.hold_starts = false;
  ASSERT_TRUE(Restart());

  EXPECT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
}

TEST_F(PodsTest, APodThatIsRefusedAfterARestartIsEnded) {
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(AwaitPhase(Phase::kRunning));
  devices.refusal = {.reason = "UnexpectedAdmissionError", .message = "gone"};

  ASSERT_TRUE(Restart());

  ASSERT_TRUE(AwaitPhase(Phase::kFailed));
  ASSERT_TRUE(Await([this] { return !runtime.Knows("u.main"); }));
  ASSERT_TRUE(Await([this] { return Last(devices.asked) == "remove u"; }));
  EXPECT_EQ(Record().status.reason, "UnexpectedAdmissionError");
}

TEST_F(PodsTest, ADeletionGoesOnAfterARestart) {
  runtime.ignore_sigterm = true;
  pod::Pod pod = MakePod({}, {"main"});
  pod.termination_grace = std::chrono::seconds(0);
  CreateAndWait(std::move(pod));
  ASSERT_TRUE(AwaitPhase(Phase::kRunning));
  Delete(std::chrono::seconds(3600));

  ASSERT_TRUE(Restart());

  ASSERT_TRUE(Await([this] { return pods->all().empty(); }));
  EXPECT_THAT(runtime.known(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(pods_directory() + "/u"));
}

TEST_F(PodsTest, EndedPodsAreKeptOverARestartWithoutTheirDevices) {
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(Await([this] { return runtime.Runs("u.main"); }));
  runtime.End("u.main", 9);
  ASSERT_TRUE(AwaitPhase(Phase::kFailed));

  ASSERT_TRUE(Restart());
  Settle();

  EXPECT_EQ(Record().status.phase, Phase::kFailed);
  EXPECT_EQ(State(0).exit_code, 9);
  EXPECT_THAT(devices.asked, ::testing::Contains("retain"));
  EXPECT_THAT(devices.asked, Not(::testing::Contains(HasSubstr("admit"))));
}

TEST_F(PodsTest, APodWhoseRecordIsBrokenIsRemovedWithItsContainers) {
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(AwaitPhase(Phase::kRunning));
  Settle();
  std::ofstream(pods_directory() + "/u/record.json") << "{";

  ASSERT_TRUE(Restart());
  ASSERT_TRUE(Await([this] { return !std::filesystem::exists(pods_directory() + "/u"); }));

  EXPECT_THAT(runtime.known(), IsEmpty());
  EXPECT_THAT(devices.asked, ElementsAre("retain u", "remove u"));
  EXPECT_TRUE(pods->all().empty());
}

TEST_F(PodsTest, WithoutARuntimeContainersThatMayRunAreNotForgotten) {
  CreateAndWait(MakePod({}, {"main"}));
  ASSERT_TRUE(AwaitPhase(Phase::kRunning));
  Settle();

  pods = std::make_unique<Pods>(Environment(/*with_runtime=*/false));
  const auto loaded = pods->Load();

  EXPECT_EQ(loaded.error().code(), Code::kFailedPrecondition);
  EXPECT_THAT(loaded.error().message(), HasSubstr("default/camera"));
  EXPECT_TRUE(runtime.Runs("u.main"));
}

}  // namespace
}  // namespace tenon::kubelet
