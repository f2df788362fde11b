#include "cdi/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "host/temp_tree.h"

namespace tenon::cdi {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ResolveTest : ::testing::Test {
  ResolveTest() {
    tree.Directory("/etc/cdi");
    tree.Directory("/run/cdi");
    Protect("/etc/cdi", 0755);
    Protect("/run/cdi", 0755);
  }
  void Protect(const std::string& path, mode_t mode) {
    ASSERT_EQ(::chmod(tree.Real(path).c_str(), mode), 0);
  }
  /// A spec of v.com/c: `common` for all of its devices, and each device with its variable.
  void Spec(const std::string& path, const std::string& common,
            const std::map<std::string, std::string>& devices) {
    std::string text =
        "cdiVersion: 0.6.0\nkind: v.com/c\ncontainerEdits: {env: [" + common + "]}\ndevices:\n";
    for (const auto& [name, env] : devices)
      text += "- {name: " + name + ", containerEdits: {env: [" + env + "]}}\n";
    tree.File(path, text);
    Protect(path, 0644);
  }
  Result<ContainerEdits> Resolve(const std::vector<std::string>& names) {
    return ResolveDevices(names, *machine, {"/etc/cdi", "/run/cdi"});
  }
  std::string ErrorOf(const std::string& name) {
    auto edits = Resolve({name});
    return edits ? "none" : edits.error().message();
  }

  host::TempTree tree;
  std::unique_ptr<host::PosixHost> machine = *host::PosixHost::Open(tree.root());
};

TEST_F(ResolveTest, GivesWhatTheSpecSaysForAllOnceAndThenEachDevice) {
  Spec("/etc/cdi/c.yaml", "ALL=1", {{"a", "A=1"}, {"b", "B=1"}});

  EXPECT_THAT(Resolve({"v.com/c=b", "v.com/c=a"})->env, ElementsAre("ALL=1", "B=1", "A=1"));
}

TEST_F(ResolveTest, ALaterDirectoryOverridesAnEarlierOne) {
  Spec("/etc/cdi/c.yaml", "ALL=etc", {{"a", "A=etc"}, {"b", "B=etc"}});
  Spec("/run/cdi/other.yaml", "ALL=run", {{"a", "A=run"}});

  EXPECT_THAT(Resolve({"v.com/c=a"})->env, ElementsAre("ALL=run", "A=run"));
  EXPECT_THAT(Resolve({"v.com/c=b"})->env, ElementsAre("ALL=etc", "B=etc"));
}

TEST_F(ResolveTest, TwoFilesOfOneDirectoryContradictEachOther) {
  Spec("/etc/cdi/1.yaml", "X=1", {{"a", "A=1"}});
  Spec("/etc/cdi/2.yaml", "X=2", {{"a", "A=2"}, {"b", "B=2"}});

  EXPECT_EQ(ErrorOf("v.com/c=a"),
            "CDI device \"v.com/c=a\": /etc/cdi/1.yaml and /etc/cdi/2.yaml both have it");
  EXPECT_TRUE(Resolve({"v.com/c=b"}));
}

TEST_F(ResolveTest, WhatIsNotThereIsSaidWithWhatWasNotRead) {
  EXPECT_EQ(ErrorOf("v.com/c=a"), "CDI device \"v.com/c=a\": no spec in /etc/cdi, /run/cdi has it");
  EXPECT_EQ(ErrorOf("gpu0"), "CDI device \"gpu0\": must be VENDOR/CLASS=NAME");

  tree.File("/etc/cdi/bad.json", "{");
  Protect("/etc/cdi/bad.json", 0644);
  tree.File("/etc/cdi/readme.txt", "nothing");
  EXPECT_THAT(ErrorOf("v.com/c=a"),
              AllOf(HasSubstr("has it; /etc/cdi/bad.json:1:"), Not(HasSubstr("readme"))));
}

TEST_F(ResolveTest, AFileThatOthersMayHaveWrittenIsNotRead) {
  Spec("/etc/cdi/c.yaml", "ALL=1", {{"a", "A=1"}});

  Protect("/etc/cdi/c.yaml", 0664);
  EXPECT_THAT(ErrorOf("v.com/c=a"),
              HasSubstr("/etc/cdi/c.yaml was not read: it can be written to by others"));

  Protect("/etc/cdi/c.yaml", 0644);
  Protect("/etc/cdi", 0777);
  EXPECT_THAT(ErrorOf("v.com/c=a"), HasSubstr("/etc/cdi was not read: it can be written to"));

  Protect("/etc/cdi", 0755);
  if (::chown(tree.Real("/etc/cdi/c.yaml").c_str(), 65534, 65534) != 0)
    GTEST_SKIP() << "needs root: cannot give a file away";
  EXPECT_THAT(ErrorOf("v.com/c=a"), HasSubstr("belongs to user 65534, not to root"));
}

TEST_F(ResolveTest, DirectoriesThatAreNotThereAreNoMistake) {
  tree.Remove("/etc/cdi");
  Spec("/run/cdi/c.yaml", "ALL=1", {{"a", "A=1"}});

  EXPECT_TRUE(Resolve({"v.com/c=a"}));
  EXPECT_EQ(*Resolve({}), ContainerEdits());
}

}  // namespace
}  // namespace tenon::cdi
