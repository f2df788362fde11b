#include "cdi/spec_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "host/temp_tree.h"

namespace tenon::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct SpecFilesTest : ::testing::Test {
  static Spec Of(const std::string& kind, const std::string& device) {
    Spec spec{.kind = kind};
    spec.devices[device].device_nodes = {
        {.path = "/dev/x", .host_path = "/dev/x", .permissions = "rw"}};
    return spec;
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(tree.Real("/cdi")))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  uintmax_t Inode(const std::string& kind) const {
    struct stat file {};
    return ::stat(files.PathOf(kind).c_str(), &file) == 0 ? file.st_ino : 0;
  }

  host::TempTree tree;
  SpecFiles files{tree.Real("/cdi")};
};

TEST_F(SpecFilesTest, TheDirectoryIsMadeAndAnotherProcessReadsTheSpec) {
  ASSERT_TRUE(files.Put(Of("example.com/a_b", "1")));

  EXPECT_THAT(Files(), ElementsAre("tenon-example.com_a_b.json"));
  const SpecFiles other(tree.Real("/cdi"));
  EXPECT_THAT(other.Kinds(), ElementsAre("example.com/a_b"));
  EXPECT_EQ(Of("example.com/a_b", "1"), *other.Read("example.com/a_b"));
}

TEST_F(SpecFilesTest, AFileIsWrittenOnlyIfItIsNotWhatItShouldBe) {
  ASSERT_TRUE(files.Put(Of("example.com/a", "1")));
  const uintmax_t first = Inode("example.com/a");
  ASSERT_TRUE(files.Put(Of("example.com/a", "1")));
  EXPECT_EQ(first, Inode("example.com/a"));

  ASSERT_TRUE(files.Put(Of("example.com/a", "2")));
  EXPECT_EQ(Of("example.com/a", "2"), *files.Read("example.com/a"));

  tree.File("/cdi/tenon-example.com_a.json", "{}");
  ASSERT_TRUE(files.Put(Of("example.com/a", "2")));
  EXPECT_EQ(Of("example.com/a", "2"), *files.Read("example.com/a"));

  tree.Remove("/cdi/tenon-example.com_a.json");
  ASSERT_TRUE(files.Put(Of("example.com/a", "2")));
  EXPECT_EQ(Of("example.com/a", "2"), *files.Read("example.com/a"));
}

TEST_F(SpecFilesTest, WithoutDevicesThereIsNoFile) {
  ASSERT_TRUE(files.Put(Of("example.com/a", "1")));

  ASSERT_TRUE(files.Put(Spec{.kind = "example.com/a"}));

  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(SpecFilesTest, WhatAKilledWriterLeftIsRemovedAndNothingElse) {
  tree.Directory("/cdi");
  tree.File("/cdi/.tenon-example.com_a.json.abcdef", "half a sp");
  tree.File("/cdi/.tenon-example.com_ab.json.abcdef", "another's");
  tree.File("/cdi/nvidia.yaml", "cdiVersion: 0.5.0\n");
  tree.File("/cdi/tenon-notes.json", "{}");
  tree.File("/cdi/tenon-other.com_b.json", "not a spec");

  EXPECT_THAT(files.Kinds(), IsEmpty());
  ASSERT_TRUE(files.Put(Of("example.com/a", "1")));
  ASSERT_TRUE(files.Remove("example.com/a"));

  EXPECT_THAT(Files(), ElementsAre(".tenon-example.com_ab.json.abcdef", "nvidia.yaml",
                                   "tenon-notes.json", "tenon-other.com_b.json"));
}

TEST_F(SpecFilesTest, ADirectoryThatCannotBeMadeIsNamed) {
  tree.File("/cdi", "a file");

  auto put = files.Put(Of("example.com/a", "1"));

  ASSERT_FALSE(put);
  EXPECT_THAT(put.error().message(), HasSubstr(tree.Real("/cdi")));
  EXPECT_TRUE(files.Remove("example.com/a"));
  EXPECT_THAT(files.Kinds(), IsEmpty());
}

}  // namespace
}  // namespace tenon::cdi
