#include "runtime/image_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/temp_tree.h"

namespace tenon::runtime {
namespace {

using ::testing::HasSubstr;

TEST(ImageDirTest, FindsAnImageByNameAndByPath) {
  host::TempTree tree;
  tree.Directory("/busybox:1.36");
  tree.Directory("/example.com/tools/probe");

  EXPECT_EQ(*FindImage(tree.root(), "busybox:1.36"), tree.Real("/busybox:1.36"));
  EXPECT_EQ(*FindImage(tree.root(), "example.com/tools/probe"),
            tree.Real("/example.com/tools/probe"));
  EXPECT_EQ(*FindImage("", tree.Real("/busybox:1.36")), tree.Real("/busybox:1.36"));
}

TEST(ImageDirTest, ANameCannotLeadOutOfTheDirectory) {
  host::TempTree tree;
  tree.Directory("/images");

  for (const char* image :
       {"..", "../images", "a/../..", ".", "", "a//b", "a/", "a b", ".hidden", "a\n", "~root"}) {
    const auto found = FindImage(tree.Real("/images"), image);

    ASSERT_FALSE(found) << image;
    EXPECT_EQ(found.error().code(), Code::kInvalidArgument) << image;
    EXPECT_THAT(found.error().message(), HasSubstr("write a directory below --image-dir"));
  }
}

TEST(ImageDirTest, NamesTheDirectoryThatIsMissing) {
  host::TempTree tree;
  tree.File("/file", "");

  const auto missing = FindImage(tree.root(), "busybox");
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  EXPECT_THAT(missing.error().message(), HasSubstr(tree.Real("/busybox")));
  EXPECT_THAT(FindImage(tree.root(), "file").error().message(), HasSubstr("is not a directory"));
  EXPECT_THAT(FindImage("", "busybox").error().message(), HasSubstr("no --image-dir"));
}

TEST(ImageDirTest, TheMachinesOwnRootIsNoImage) {
  for (const char* image : {"/", "/proc/self/root"})
    EXPECT_THAT(FindImage("", image).error().message(), HasSubstr("machine's own root")) << image;
}

}  // namespace
}  // namespace tenon::runtime
