#include "discovery/path_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "discovery/scanning_source.h"
#include "host/fake_file_watch.h"
#include "host/host_wrapper.h"
#include "host/temp_tree.h"
#include "loop/event_loop.h"

namespace tenon::discovery {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// "id", "id container_path" where it differs, "id: why it is unhealthy".
std::vector<std::string> Texts(const Snapshot& devices) {
  std::vector<std::string> texts;
  for (const FoundDevicePtr& device : devices) {
    std::string text = device->id.value;
    if (device->health == Health::kUnhealthy) text += ": " + device->reason;
    texts.push_back(std::move(text));
  }
  return texts;
}

std::unique_ptr<Source> MakeSource(const Surroundings& surroundings, const PathOptions& options) {
  return std::make_unique<ScanningSource>(surroundings, std::make_unique<PathScanner>(options));
}

struct PathScannerTest : ::testing::Test {
  void SetUp() override {
    if (!tree.CharacterDevice("/dev/null", 1, 3)) GTEST_SKIP() << "needs CAP_MKNOD";
    Node("/dev/zero", 5);
    Node("/dev/full", 7);
  }
  void Node(const std::string& path, unsigned minor) {
    EXPECT_TRUE(tree.CharacterDevice(path, 1, minor));
  }
  /// Replaces `path` in one step, as a careful program does.
  void Relink(const std::string& path, const std::string& target) {
    tree.Link(path + ".new", target);
    tree.Move(path + ".new", path);
  }
  static PathOptions Options(const std::string& pattern) {
    return {.path = *base::Glob::Parse(pattern)};
  }
  void Start(const std::string& pattern) { Start(Options(pattern)); }
  void Start(const PathOptions& options) {
    source = MakeSource({*host, &files, timers, log}, options);
    source->Start([this](Snapshot snapshot) { reports.push_back(std::move(snapshot)); });
  }
  void Fire(const std::string& directory) { files.Fire(tree.Real(directory), ""); }
  /// What inotify tells of a name, and the scan that follows it.
  std::vector<std::string> After(const std::string& directory, const std::string& name) {
    files.Fire(tree.Real(directory), name);
    timers.Advance(milliseconds(50));
    return Texts(reports.back());
  }
  /// An event of no name, and the scan that follows it.
  std::vector<std::string> After(const std::string& directory) {
    Fire(directory);
    timers.Advance(milliseconds(50));
    return Texts(reports.back());
  }
  std::vector<std::string> Now() { return Texts(reports.back()); }
  std::vector<std::string> Watched() {
    std::vector<std::string> paths;
    for (const std::string& path : files.paths())
      paths.push_back(path == tree.root() + "/" ? "/" : path.substr(tree.root().size()));
    return paths;
  }
  host::TempTree tree;
  std::unique_ptr<host::Host> host = *host::PosixHost::Open(tree.root());
  host::FakeFileWatch files;
  loop::TimerQueue timers{base::MonotonicTime(std::chrono::hours(1))};
  base::RecordingLog log;
  std::vector<Snapshot> reports;
  std::unique_ptr<Source> source;
};

TEST_F(PathScannerTest, ALiteralPathIsOneDevice) {
  Start("/dev/null");

  ASSERT_THAT(Now(), ElementsAre("null"));
  const FoundDevice& device = *reports.back().front();
  EXPECT_EQ("c 1:3", device.device_number);
  EXPECT_EQ((FoundPath{.host_path = "/dev/null",
                       .real_path = "/dev/null",
                       .container_path = "/dev/null",
                       .permissions = "rw",
                       .kind = host::FileKind::kCharacterDevice,
                       .major = 1,
                       .minor = 3}),
            device.paths.front());
}

TEST_F(PathScannerTest, TheContainerPathIsAFileOrADirectoryThatKeepsTheName) {
  tree.Link("/dev/link", "null");
  auto container_path = [&](const std::string& wanted) {
    PathOptions options = Options("/dev/link");
    if (!wanted.empty()) options.nodes.container_paths = {wanted};
    Start(options);
    return reports.back().front()->paths.front().container_path;
  };

  EXPECT_EQ("/dev/link", container_path(""));
  EXPECT_EQ("/dev/inside", container_path("/dev/inside"));
  EXPECT_EQ("/dev/serial/link", container_path("/dev/serial/"));
}

TEST_F(PathScannerTest, AliasesAreTheSameDeviceNodeUnderSeveralNames) {
  PathOptions options = Options("/dev/null");
  options.nodes.container_paths = {"/dev/modem", "/dev/old/"};
  Start(options);

  const FoundDevice& device = *reports.back().front();
  ASSERT_EQ(2U, device.paths.size());
  EXPECT_EQ("/dev/modem", device.paths[0].container_path);
  EXPECT_EQ("/dev/old/null", device.paths[1].container_path);
  EXPECT_EQ(device.paths[0].real_path, device.paths[1].real_path);
}

TEST_F(PathScannerTest, ALiteralDirectoryIsOneDeviceOfAllDeviceNodesBelowIt) {
  Node("/dev/snd/pcm10", 3);
  Node("/dev/snd/pcm2", 5);
  Node("/dev/snd/by-path/x", 7);
  tree.File("/dev/snd/seq.txt", "");
  tree.Link("/dev/snd/loop", "../snd");
  PathOptions options = Options("/dev/snd");
  options.nodes.container_paths = {"/dev/sound/"};
  Start(options);

  ASSERT_THAT(Now(), ElementsAre("snd"));
  std::vector<std::string> paths;
  for (const FoundPath& path : reports.back().front()->paths)
    paths.push_back(path.container_path);
  EXPECT_THAT(paths, ElementsAre("/dev/sound/by-path/x", "/dev/sound/pcm2", "/dev/sound/pcm10"));
  EXPECT_THAT(Watched(), ElementsAre("/", "/dev", "/dev/snd", "/dev/snd/by-path"));
}

TEST_F(PathScannerTest, AnEmptyDirectoryIsUnhealthyAndRecovers) {
  tree.Directory("/dev/snd");
  Start("/dev/snd");
  EXPECT_THAT(Now(), ElementsAre("snd: is a directory without device nodes"));

  Node("/dev/snd/x", 3);

  EXPECT_THAT(After("/dev/snd"), ElementsAre("snd"));
}

TEST_F(PathScannerTest, AMountTakesAnythingButADeviceNode) {
  tree.File("/dev/plain", "");
  tree.Directory("/dev/shm");
  auto texts = [&](const std::string& path) {
    PathOptions options = Options(path);
    options.nodes.mount = true;
    options.nodes.read_only = true;
    Start(options);
    return Now();
  };

  EXPECT_THAT(texts("/dev/plain"), ElementsAre("plain"));
  EXPECT_THAT(texts("/dev/shm"), ElementsAre("shm"));
  EXPECT_TRUE(reports.back().front()->paths.front().read_only);
  EXPECT_THAT(texts("/dev/null"), ElementsAre(HasSubstr("a mount does not give access to")));
}

TEST_F(PathScannerTest, AMissingLiteralPathIsNoDeviceAndAppearsWhenItIsThere) {
  Start("/dev/x");
  EXPECT_THAT(Now(), IsEmpty());

  Node("/dev/x", 3);

  EXPECT_THAT(After("/dev"), ElementsAre("x"));
}

TEST_F(PathScannerTest, WatchesMoveDownAsMissingDirectoriesAppear) {
  Start("/dev/serial/by-id/x");
  EXPECT_THAT(Watched(), ElementsAre("/", "/dev"));

  tree.Directory("/dev/serial");
  After("/dev");
  EXPECT_THAT(Watched(), ElementsAre("/", "/dev", "/dev/serial"));
  tree.Directory("/dev/serial/by-id");
  After("/dev/serial");
  EXPECT_THAT(Watched(), ElementsAre("/", "/dev", "/dev/serial", "/dev/serial/by-id"));
  Node("/dev/serial/by-id/x", 3);
  EXPECT_THAT(After("/dev/serial/by-id"), ElementsAre("serial_2Fby-id_2Fx"));
}

TEST_F(PathScannerTest, WatchesMoveUpAsDirectoriesVanish) {
  Node("/dev/bus/usb/001", 3);
  Start("/dev/bus/usb/001");

  tree.Remove("/dev/bus");

  EXPECT_THAT(After("/dev"), IsEmpty());
  EXPECT_THAT(Watched(), ElementsAre("/", "/dev"));
}

TEST_F(PathScannerTest, EvenARootWithoutDevIsWatched) {
  tree.Remove("/dev");
  Start("/dev/null");
  EXPECT_THAT(Watched(), ElementsAre("/"));

  Node("/dev/null", 3);

  EXPECT_THAT(After("/"), ElementsAre("null"));
}

TEST_F(PathScannerTest, ALiteralPathThatIsNoUsableDeviceNodeIsUnhealthyWithItsReason) {
  tree.File("/dev/plain", "");
  tree.Link("/dev/dangling", "none");
  tree.Link("/dev/a", "b");
  tree.Link("/dev/b", "a");
  tree.Link("/dev/outside", "/srv/null");
  Node("/srv/null", 3);
  auto texts = [&](const std::string& path) {
    Start(path);
    return Now();
  };

  EXPECT_THAT(texts("/dev/plain"), ElementsAre("plain: is a regular file, not a device node"));
  EXPECT_THAT(texts("/dev/dangling"), ElementsAre("dangling: is a symlink that leads nowhere"));
  EXPECT_THAT(texts("/dev/a"), ElementsAre("a: resolve /dev/a: Too many levels of symbolic links"));
  EXPECT_THAT(texts("/dev/outside"),
              ElementsAre("outside: leads to /srv/null, outside of what rules may reach"));
  EXPECT_THAT(texts("/dev/plain/x"), IsEmpty());
}

TEST_F(PathScannerTest, AnUnsafeRuleOffersMemory) {
  Node("/dev/mem", 1);
  Start("/dev/mem");
  EXPECT_THAT(Now(), ElementsAre(HasSubstr("only an unsafe rule")));

  PathOptions options = Options("/dev/mem");
  options.nodes.trust.unsafe = true;
  Start(options);

  EXPECT_THAT(Now(), ElementsAre("mem"));
}

// spec/generic-devices.md §5, input 5.
TEST_F(PathScannerTest, ALinkThatIsSwappedKeepsItsIdAndChangesItsNumber) {
  tree.Link("/dev/x", "null");
  Start("/dev/x");
  EXPECT_EQ("c 1:3", reports.back().front()->device_number);

  Relink("/dev/x", "zero");

  EXPECT_THAT(After("/dev"), ElementsAre("x"));
  EXPECT_EQ("c 1:5", reports.back().front()->device_number);
  EXPECT_EQ("/dev/zero", reports.back().front()->paths.front().real_path);
}

// spec/generic-devices.md §5, input 5.
TEST_F(PathScannerTest, ADeviceNodeThatIsMadeAnewBehindALinkIsSeen) {
  tree.Link("/dev/links/x", "../target/node");
  Node("/dev/target/node", 3);
  Start("/dev/links/x");
  EXPECT_THAT(Watched(), Contains("/dev/target"));

  tree.Remove("/dev/target/node");
  EXPECT_THAT(After("/dev/target"), ElementsAre("links_2Fx: is a symlink that leads nowhere"));
  Node("/dev/target/node", 5);
  EXPECT_THAT(After("/dev/target"), ElementsAre("links_2Fx"));
  EXPECT_EQ("c 1:5", reports.back().front()->device_number);
}

// spec/generic-devices.md §5, input 5.
TEST_F(PathScannerTest, ADeviceNodeThatBecomesARegularFileIsUnhealthyAndRecovers) {
  Node("/dev/x", 3);
  Start("/dev/x");

  tree.File("/dev/plain", "");
  tree.Move("/dev/plain", "/dev/x");
  EXPECT_THAT(After("/dev"), ElementsAre("x: is a regular file, not a device node"));
  tree.Remove("/dev/x");
  EXPECT_THAT(After("/dev"), IsEmpty());
  Node("/dev/x", 3);
  EXPECT_THAT(After("/dev"), ElementsAre("x"));
}

// spec/generic-devices.md §5, input 6.
TEST_F(PathScannerTest, OfAFamilyOfSymlinksThoseThatLeadToDeviceNodesAreOffered) {
  tree.Link("/dev/serial/by-id/absolute", "/dev/null");
  tree.Link("/dev/serial/by-id/chain", "../by-path/hop");
  tree.Link("/dev/serial/by-path/hop", "../../zero");
  tree.Link("/dev/serial/by-id/dangling", "../../none");
  tree.Link("/dev/serial/by-id/loop", "loop");
  tree.File("/dev/serial/by-id/plain", "");
  tree.Directory("/dev/serial/by-id/subdirectory");
  Start("/dev/serial/by-id/*");

  EXPECT_THAT(Now(), ElementsAre("serial_2Fby-id_2Fabsolute", "serial_2Fby-id_2Fchain"));
  const FoundPath& chain = reports.back().back()->paths.front();
  EXPECT_EQ("/dev/zero", chain.real_path);
  EXPECT_EQ("/dev/serial/by-id/chain", chain.container_path);
  EXPECT_THAT(Watched(),
              ElementsAre("/", "/dev", "/dev/serial", "/dev/serial/by-id", "/dev/serial/by-path"));
}

// spec/generic-devices.md §5, input 6.
TEST_F(PathScannerTest, ASkippedMatchIsLoggedOnceAndAppearsWhenItIsRepaired) {
  tree.Link("/dev/by-id/dangling", "../none");
  Start("/dev/by-id/*");
  source->Rescan();
  source->Rescan();
  EXPECT_THAT(log.lines(),
              ElementsAre(AllOf(HasSubstr("/dev/by-id/dangling"), HasSubstr("leads nowhere"))));

  Node("/dev/none", 3);
  EXPECT_THAT(After("/dev"), ElementsAre("by-id_2Fdangling"));
  tree.Remove("/dev/none");
  EXPECT_THAT(After("/dev"), IsEmpty());
  EXPECT_EQ(2U, log.lines().size());
}

// spec/generic-devices.md §5, input 6.
TEST_F(PathScannerTest, ALinkInALinkedDirectoryIsOffered) {
  tree.Link("/dev/real/x", "../null");
  tree.Link("/dev/link", "real");
  Start("/dev/link/x");

  ASSERT_THAT(Now(), ElementsAre("link_2Fx"));
  EXPECT_EQ("/dev/null", reports.back().front()->paths.front().real_path);
  EXPECT_THAT(Watched(), ElementsAre("/", "/dev", "/dev/real"));
}

TEST_F(PathScannerTest, OfTwoNamesOfOneDeviceNodeTheFirstInNaturalOrderIsOffered) {
  tree.Link("/dev/by-id/port10", "../null");
  tree.Link("/dev/by-id/port9", "../null");
  Start("/dev/by-id/*");
  source->Rescan();

  EXPECT_THAT(Now(), ElementsAre("by-id_2Fport9"));
  EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("same device node as /dev/by-id/port9")));
}

TEST_F(PathScannerTest, MatchesAreInNaturalOrder) {
  for (const char* name : {"tty10", "tty2", "tty1"})
    Node(std::string("/dev/") + name, 3);
  Start("/dev/tty*");

  EXPECT_THAT(Now(), ElementsAre("tty1", "tty2", "tty10"));
}

TEST_F(PathScannerTest, AnUnreadableDirectoryIsLoggedOnceAndIsNotFatal) {
  struct DeniedHost final : host::HostWrapper {
    using HostWrapper::HostWrapper;
    Result<std::vector<std::string>> List(const std::string& path) override {
      if (!denied) return HostWrapper::List(path);
      return Error(Code::kPermissionDenied, "list " + path + ": Permission denied", EACCES);
    }
    bool denied = true;
  };
  auto real = std::move(host);
  host = std::make_unique<DeniedHost>(*real);
  Start("/dev/n*");
  source->Rescan();
  EXPECT_THAT(Now(), IsEmpty());
  EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("list /dev: Permission denied")));

  static_cast<DeniedHost&>(*host).denied = false;

  EXPECT_THAT(After("/dev"), ElementsAre("null"));
  source.reset();
}

TEST_F(PathScannerTest, WhatAppearsWhileTheWatchesAreMadeIsNotMissed) {
  tree.Directory("/dev/serial");
  files.on_watch = [&](const std::string& path) {
    if (path == tree.Real("/dev/serial") && !std::filesystem::exists(tree.Real("/dev/serial/x")))
      Node("/dev/serial/x", 3);
  };

  Start("/dev/serial/*");

  EXPECT_THAT(Now(), ElementsAre("serial_2Fx"));
}

TEST_F(PathScannerTest, AStormOfEventsIsOneScan) {
  Start("/dev/x*");
  for (int i = 0; i < 1000; ++i)
    Fire("/dev");
  timers.Advance(milliseconds(49));
  EXPECT_EQ(1U, reports.size());

  timers.Advance(milliseconds(1));
  EXPECT_EQ(2U, reports.size());
  timers.Advance(seconds(1));
  EXPECT_EQ(2U, reports.size());
}

TEST_F(PathScannerTest, EventsThatDoNotEndPutAScanOffFor200Milliseconds) {
  Start("/dev/x*");
  for (int i = 0; i < 19; ++i) {
    Fire("/dev");
    timers.Advance(milliseconds(10));
  }
  EXPECT_EQ(1U, reports.size());

  Fire("/dev");
  timers.Advance(milliseconds(10));

  EXPECT_EQ(2U, reports.size());
}

TEST_F(PathScannerTest, WhileWatchesWorkItLooksOnceAMinute) {
  Start("/dev/x");
  timers.Advance(milliseconds(59999));
  EXPECT_EQ(1U, reports.size());

  timers.Advance(milliseconds(1));

  EXPECT_EQ(2U, reports.size());
}

TEST_F(PathScannerTest, SourcesStartedAtDifferentTimesPollInOneTurn) {
  Start("/dev/x");
  auto first = std::move(source);
  timers.Advance(seconds(17));
  Start("/dev/y");
  ASSERT_EQ(2U, reports.size());

  timers.Advance(seconds(43));

  EXPECT_EQ(4U, reports.size());
}

TEST_F(PathScannerTest, WhereAWatchCannotBeMadeItLooksEveryFiveSeconds) {
  files.failure = Error(Code::kResourceExhausted, "no inotify watches left");
  Start("/dev/x");
  Node("/dev/x", 3);

  timers.Advance(seconds(5));

  EXPECT_THAT(Now(), ElementsAre("x"));
  files.failure.reset();
  timers.Advance(seconds(5));
  size_t before = reports.size();
  timers.Advance(seconds(30));
  EXPECT_EQ(before, reports.size());
}

TEST_F(PathScannerTest, WithoutInotifyItLooksEveryFiveSeconds) {
  source = MakeSource({*host, nullptr, timers, log}, Options("/dev/x"));
  source->Start([this](Snapshot snapshot) { reports.push_back(std::move(snapshot)); });
  Node("/dev/x", 3);

  timers.Advance(seconds(5));

  EXPECT_THAT(Now(), ElementsAre("x"));
}

TEST_F(PathScannerTest, FiveHundredDeviceNodesKeepTheirIdsOverRescans) {
  for (unsigned i = 0; i < 500; ++i)
    ASSERT_TRUE(tree.CharacterDevice("/dev/bus/" + std::to_string(i), 166, i));
  Start("/dev/bus/*");
  source->Rescan();

  ASSERT_EQ(500U, reports.back().size());
  EXPECT_EQ(reports.front(), reports.back());
  EXPECT_EQ("bus_2F2", reports.back()[2]->id.value);
  EXPECT_THAT(Watched(), ElementsAre("/", "/dev", "/dev/bus"));
}

TEST_F(PathScannerTest, ANameThatChangesIsLookedAtAndTheOthersAreLeftAlone) {
  Node("/dev/tty1", 3);
  Node("/dev/tty2", 5);
  Start("/dev/tty*");

  Node("/dev/tty10", 7);
  EXPECT_THAT(After("/dev", "tty10"), ElementsAre("tty1", "tty2", "tty10"));
  EXPECT_EQ(reports.front()[1], reports.back()[1]) << "the same object";
  tree.Remove("/dev/tty1");
  Node("/dev/unasked", 8);
  EXPECT_THAT(After("/dev", "unasked"), ElementsAre("tty1", "tty2", "tty10"))
      << "nobody told of it";
  EXPECT_THAT(After("/dev", "tty1"), ElementsAre("tty2", "tty10"));
  tree.Remove("/dev/tty2");
  Node("/dev/tty2", 9);
  EXPECT_THAT(After("/dev", "tty2"), ElementsAre("tty2", "tty10"));
  EXPECT_EQ("c 1:9", reports.back()[0]->device_number);
  tree.Remove("/dev/tty10");
  EXPECT_THAT(After("/dev", ""), ElementsAre("tty2")) << "anything may have changed";
}

TEST_F(PathScannerTest, ANameThatChangesIsSeenThroughTheLinksThatLeadToIt) {
  Node("/dev/ttyS0", 3);
  tree.Link("/dev/tty-modem", "ttyS0");
  tree.Link("/dev/tty-alias", "serial/by-id/x");
  tree.Link("/dev/serial/by-id/x", "../../zero");
  Start("/dev/tty-*");
  EXPECT_THAT(Now(), ElementsAre("tty-alias", "tty-modem"));

  tree.Remove("/dev/ttyS0");
  EXPECT_THAT(After("/dev", "ttyS0"), ElementsAre("tty-alias"));
  Node("/dev/ttyS0", 8);
  EXPECT_THAT(After("/dev", "ttyS0"), ElementsAre("tty-alias", "tty-modem"));
  Relink("/dev/serial/by-id/x", "../../full");
  EXPECT_THAT(After("/dev/serial/by-id", "x"), ElementsAre("tty-alias", "tty-modem"));
  EXPECT_EQ("c 1:7", reports.back()[0]->device_number);
  tree.Remove("/dev/serial/by-id/x");
  EXPECT_THAT(After("/dev/serial/by-id", "x"), ElementsAre("tty-modem"));
}

TEST_F(PathScannerTest, WhatIsToldNameByNameEndsAsALookAtEverythingDoes) {
  Start("/dev/d[0-9]*");
  std::mt19937 random(20261130);
  auto any = [&random](unsigned count) { return static_cast<unsigned>(random() % count); };
  for (int round = 0; round < 300; ++round) {
    for (unsigned changes = any(4) + 1; changes > 0; --changes) {
      const std::string name = "d" + std::to_string(any(12));
      tree.Remove("/dev/" + name);
      switch (any(5)) {
        case 0:
          Node("/dev/" + name, any(4) + 1);
          break;
        case 1:
          tree.Link("/dev/" + name, "d" + std::to_string(any(12)));
          break;
        case 2:
          tree.File("/dev/" + name, "");
          break;
        case 3:
          tree.Directory("/dev/" + name);
          break;
        default:
          break;
      }
      files.Fire(tree.Real("/dev"), name);
    }
    timers.Advance(milliseconds(50));
    PathScanner fresh(Options("/dev/d[0-9]*"));
    const Scan whole = fresh.Look(*host);
    ASSERT_EQ(Texts(whole.devices), Now()) << "round " << round;
    for (size_t i = 0; i < whole.devices.size(); ++i)
      ASSERT_EQ(*whole.devices[i], *reports.back()[i]) << "round " << round;
  }
}

TEST_F(PathScannerTest, MayBeDestroyedInItsReport) {
  source = MakeSource({*host, &files, timers, log}, Options("/dev/null"));
  bool destroy = false;
  source->Start([&](const Snapshot&) {
    if (destroy) source.reset();
  });
  destroy = true;

  Fire("/dev");
  timers.Advance(milliseconds(50));

  EXPECT_EQ(nullptr, source);
  EXPECT_THAT(files.paths(), IsEmpty());
  EXPECT_EQ(std::nullopt, timers.next_deadline());
}

TEST_F(PathScannerTest, HotplugIsSeenThroughInotify) {
  base::SystemClock clock;
  auto loop = *loop::EventLoop::Create(clock);
  auto inotify = *host::FileWatch::Create(*loop);
  ScanningSource real({*host, inotify.get(), loop->timers(), log},
                      std::make_unique<PathScanner>(Options("/dev/serial/by-id/*")),
                      ScanTiming{.settle = milliseconds(1), .longest_settle = milliseconds(5)});
  Snapshot last;
  real.Start([&](Snapshot snapshot) { last = std::move(snapshot); });
  auto until = [&](const std::vector<std::string>& texts) {
    return loop->RunUntil([&] { return Texts(last) == texts; }, seconds(5));
  };

  tree.Link("/dev/serial/by-id/x", "../../null");
  EXPECT_TRUE(until({"serial_2Fby-id_2Fx"}));
  tree.Link("/dev/serial/by-id/y", "../../zero");
  EXPECT_TRUE(until({"serial_2Fby-id_2Fx", "serial_2Fby-id_2Fy"}));
  tree.Remove("/dev/serial");
  EXPECT_TRUE(until({}));
  tree.Link("/dev/serial/by-id/z", "../../full");
  EXPECT_TRUE(until({"serial_2Fby-id_2Fz"}));
}

}  // namespace
}  // namespace tenon::discovery
