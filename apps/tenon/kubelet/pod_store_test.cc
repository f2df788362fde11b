#include "tenon/kubelet/pod_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "host/temp_tree.h"

namespace tenon::kubelet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PodRecord MakeRecord(const std::string& uid, int age_seconds = 0) {
  PodRecord out{.pod = {.name = "pod-" + uid, .uid = uid}};
  out.pod.containers.push_back({.name = "main", .image = "busybox", .command = {"/bin/true"}});
  out.status.phase = pod::Phase::kRunning;
  out.status.containers.push_back({.name = "main", .image = "busybox"});
  out.created = base::FakeClock().WallNow() - std::chrono::seconds(age_seconds);
  out.deleting = true;
  out.processes["main"] = {.name = "runc://" + uid + ".main",
                           .process = {.pid = 42, .start_ticks = 4711}};
  return out;
}

struct PodStoreTest : ::testing::Test {
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  host::TempTree tree;
  std::unique_ptr<loop::Worker> worker = std::make_unique<loop::Worker>(loop->handle());
  std::unique_ptr<PodStore> store = std::make_unique<PodStore>(*worker, tree.Real("/pods"));

  Result<void> Save(const PodRecord& record) {
    std::optional<Result<void>> saved;
    store->Save(record, [&saved](const Result<void>& r) { saved = r; });
    EXPECT_TRUE(loop->RunUntil([&saved] { return saved.has_value(); }, std::chrono::seconds(20)));
    return *saved;
  }
};

TEST_F(PodStoreTest, RecordsAreReadBackInTheOrderOfTheirCreation) {
  ASSERT_TRUE(Save(MakeRecord("young", 1)));
  ASSERT_TRUE(Save(MakeRecord("old", 60)));

  const auto loaded = store->Load();

  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_THAT(loaded->records, ElementsAre(MakeRecord("old", 60), MakeRecord("young", 1)));
  EXPECT_THAT(loaded->orphans, IsEmpty());
}

TEST_F(PodStoreTest, TheDirectoryIsMadeAndClosedToOthers) {
  const auto loaded = store->Load();

  ASSERT_TRUE(loaded) << loaded.error().message();
  struct stat st {};
  ASSERT_EQ(::stat(tree.Real("/pods").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
}

TEST_F(PodStoreTest, WhatCannotBeReadIsAnOrphanWithItsContainers) {
  tree.File("/pods/broken/record.json", "{");
  tree.Directory("/pods/broken/main");
  tree.Directory("/pods/half");
  ASSERT_TRUE(Save(MakeRecord("moved")));
  tree.Move("/pods/moved", "/pods/elsewhere");

  const auto loaded = store->Load();

  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_THAT(loaded->records, IsEmpty());
  ASSERT_EQ(loaded->orphans.size(), 3u);
  EXPECT_EQ(loaded->orphans[0].uid, "broken");
  EXPECT_THAT(loaded->orphans[0].containers, ElementsAre("main"));
  EXPECT_THAT(loaded->orphans[0].why, HasSubstr("record.json:1:2"));
  EXPECT_THAT(loaded->orphans[1].why, HasSubstr("another uid"));
  EXPECT_THAT(loaded->orphans[2].why, HasSubstr("cannot be read"));
}

TEST_F(PodStoreTest, RemovingTakesTheWholeDirectory) {
  ASSERT_TRUE(Save(MakeRecord("u")));
  tree.File("/pods/u/main/output.log", "text");
  std::optional<Result<void>> removed;

  store->Remove("u", [&removed](const Result<void>& r) { removed = r; });
  ASSERT_TRUE(loop->RunUntil([&removed] { return removed.has_value(); }, std::chrono::seconds(20)));

  EXPECT_TRUE(*removed);
  EXPECT_FALSE(std::filesystem::exists(tree.Real("/pods/u")));
}

TEST_F(PodStoreTest, AWriteThatFailsNamesThePath) {
  tree.File("/pods/u", "in the way");

  const auto saved = Save(MakeRecord("u"));

  EXPECT_THAT(saved.error().message(), HasSubstr(tree.Real("/pods/u")));
}

TEST_F(PodStoreTest, NobodyIsToldOnceTheStoreIsGone) {
  bool told = false;
  store->Save(MakeRecord("u"), [&told](const Result<void>&) { told = true; });

  store.reset();
  worker.reset();
  loop->RunUntil([] { return false; }, std::chrono::milliseconds(1));

  EXPECT_FALSE(told);
  EXPECT_TRUE(std::filesystem::exists(tree.Real("/pods/u/record.json")));
}

TEST(PodRecordTest, WhatIsBrokenIsAnErrorAndNoRecord) {
  const std::string good = EncodeRecord(MakeRecord("u"));
  ASSERT_TRUE(DecodeRecord(good));

  struct Case {
    const char* from;
    const char* to;
  };
  for (const Case& c :
       {Case{"\"kind\":\"Pod\"", "\"kind\":\"Pot\""}, Case{"\"Running\"", "\"Odd\""},
        Case{"\"deleting\":true", "\"deleting\":1"}, Case{"\"created\":", "\"made\":"},
        Case{"\"pid\":42", "\"pid\":-1"}, Case{"\"name\":\"runc", "\"nome\":\"runc"},
        Case{"\"pid\":42", "\"pid\":99999999999"}, Case{"\"startTicks\":4711", "\"startTicks\":-1"},
        Case{"\"pod\":{", "\"pot\":{"}, Case{"\"processes\":{", "\"process\":{"}}) {
    std::string text = good;
    const size_t at = text.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    text.replace(at, std::string(c.from).size(), c.to);

    EXPECT_FALSE(DecodeRecord(text)) << c.from;
  }
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeRecord(std::string_view(good).substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace tenon::kubelet
