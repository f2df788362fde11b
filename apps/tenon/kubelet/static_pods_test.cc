#include "tenon/kubelet/static_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/strings.h"
#include "tenon/kubelet/fakes_for_test.h"

namespace tenon::kubelet {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Manifest(const std::string& name, const std::string& image = "image") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         "}\nspec:\n  containers:\n  - {name: main, image: " + image + ", command: [/bin/true]}\n";
}

struct StaticPodsTest : FakePodWorld {
  StaticPodsTest() {
    tree.Directory("/manifests");
    Protect("/manifests", 0755);
  }
  void Protect(const std::string& path, mode_t mode) {
    ASSERT_EQ(::chmod(tree.Real(path).c_str(), mode), 0);
  }
  void Write(const std::string& name, const std::string& text) {
    tree.File("/manifests/" + name, text);
    Protect("/manifests/" + name, 0644);
  }
  void Begin() {
    pods = std::make_unique<Pods>(Environment());
    ASSERT_TRUE(pods->Load());
    static_pods = std::make_unique<StaticPods>(
        *loop, log, *machine, *pods,
        StaticPods::Options{.directory = tree.Real("/manifests"),
                            .node_name = "lab",
                            .interval = std::chrono::milliseconds(10)});
    static_pods->Start();
  }
  void End() {
    static_pods.reset();
    Settle();
    pods.reset();
  }
  const PodWorker* Find(const std::string& name) { return pods->Find({"default", name + "-lab"}); }
  bool AwaitRunning(const std::string& name) {
    return Await([&] {
      const PodWorker* pod = Find(name);
      return pod && pod->record().status.phase == pod::Phase::kRunning;
    });
  }
  bool Logged(const std::string& text) {
    return std::any_of(log.lines().begin(), log.lines().end(), [&text](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }

  std::unique_ptr<host::Host> machine = *host::PosixHost::Open("/");
  std::unique_ptr<Pods> pods;
  std::unique_ptr<StaticPods> static_pods;
};

TEST_F(StaticPodsTest, PodsComeAndGoWithTheirFiles) {
  Write("a.yaml", Manifest("a"));
  Write("notes.txt", "nothing");
  Begin();
  ASSERT_TRUE(AwaitRunning("a"));

  Write("b.json", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"},"spec":{"containers":)"
                  R"([{"name":"main","image":"image","command":["x"]}]}})");
  ASSERT_TRUE(AwaitRunning("b"));
  tree.Remove("/manifests/a.yaml");

  EXPECT_TRUE(Await([this] { return Find("a") == nullptr; }));
  EXPECT_NE(Find("b"), nullptr);
}

TEST_F(StaticPodsTest, AChangedManifestMakesItsPodAnew) {
  Write("a.yaml", Manifest("a"));
  Begin();
  ASSERT_TRUE(AwaitRunning("a"));
  const std::string uid = Find("a")->pod().uid;

  Write("a.yaml", Manifest("a", "other"));

  ASSERT_TRUE(Await([&] { return Find("a") && Find("a")->pod().uid != uid; }));
  EXPECT_TRUE(AwaitRunning("a"));
}

TEST_F(StaticPodsTest, AMistakeIsLoggedAndThePodsStay) {
  Write("a.yaml", Manifest("a"));
  Begin();
  ASSERT_TRUE(AwaitRunning("a"));

  Write("a.yaml", "kind: Pod");

  EXPECT_TRUE(Await([this] { return Logged("apiVersion: is required"); }));
  EXPECT_NE(Find("a"), nullptr);
}

TEST_F(StaticPodsTest, ARestartKnowsItsPodsAgain) {
  Write("a.yaml", Manifest("a"));
  Begin();
  ASSERT_TRUE(AwaitRunning("a"));
  const base::WallTime created = Find("a")->record().created;
  End();
  runtime.asked.clear();

  Begin();

  ASSERT_TRUE(AwaitRunning("a"));
  EXPECT_EQ(base::FormatRfc3339(Find("a")->record().created), base::FormatRfc3339(created));
  EXPECT_THAT(runtime.asked, Not(Contains(HasSubstr("create"))));
}

TEST_F(StaticPodsTest, APodThatWasRefusedIsTriedAgain) {
  devices.refusal = {.reason = "UnexpectedAdmissionError", .message = "no plugin yet"};
  Write("a.yaml", Manifest("a"));
  Begin();
  ASSERT_TRUE(Await([this] {
    return Find("a") && Find("a")->record().status.reason == "UnexpectedAdmissionError";
  }));

  devices.refusal = {};

  EXPECT_TRUE(AwaitRunning("a"));
}

TEST_F(StaticPodsTest, AFileThatOthersMayHaveWrittenIsNotRead) {
  Write("a.yaml", Manifest("a"));
  Protect("/manifests/a.yaml", 0666);
  Begin();
  EXPECT_TRUE(Await([this] { return Logged("can be written to by others"); }));
  EXPECT_EQ(Find("a"), nullptr);

  Protect("/manifests/a.yaml", 0644);
  EXPECT_TRUE(AwaitRunning("a"));
}

}  // namespace
}  // namespace tenon::kubelet
