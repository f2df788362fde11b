#include "config/allowed_paths.h"

#include <gtest/gtest.h>

namespace tenon::config {
namespace {

AllowedPaths Allow(const std::vector<std::string>& prefixes) {
  auto allowed = AllowedPaths::Parse(prefixes);
  if (allowed) return *allowed;
  ADD_FAILURE() << allowed.error().message();
  return *AllowedPaths::Parse({});
}

TEST(AllowedPaths, AlwaysCoverDevAndNothingElse) {
  AllowedPaths none = Allow({});
  EXPECT_TRUE(none.Covers("/dev"));
  EXPECT_TRUE(none.Covers("/dev/net/tun"));
  EXPECT_FALSE(none.Covers("/device"));
  EXPECT_FALSE(none.Covers("/"));
  EXPECT_FALSE(none.Covers("/sys/devices"));
  EXPECT_FALSE(none.CoversByName("/dev/net/tun"));
}

TEST(AllowedPaths, CoverWholeComponentsOnly) {
  AllowedPaths allowed = Allow({"/run//dev/./net/"});
  EXPECT_TRUE(allowed.Covers("/run/dev/net"));
  EXPECT_TRUE(allowed.Covers("/run/dev/net/tun"));
  EXPECT_FALSE(allowed.Covers("/run/dev/network"));
  EXPECT_FALSE(allowed.Covers("/run/dev"));
}

TEST(AllowedPaths, TheRootAndDevDoNotNameAnything) {
  AllowedPaths wide = Allow({"/", "/dev/"});
  EXPECT_TRUE(wide.Covers("/sys/x"));
  EXPECT_FALSE(wide.CoversByName("/dev/mem"));
  EXPECT_FALSE(wide.CoversByName("/sys/x"));
  EXPECT_TRUE(Allow({"/", "/dev/mem"}).CoversByName("/dev/mem"));
  EXPECT_FALSE(Allow({"/dev/mem"}).CoversByName("/dev"));
}

TEST(AllowedPaths, RefusePrefixesThatAreNotPlain) {
  EXPECT_EQ("--allow-path dev: not an absolute path; begin it with \"/\"",
            AllowedPaths::Parse({"/ok", "dev"}).error().message());
  EXPECT_EQ("--allow-path /dev/../etc: contains \"..\"; write the path without it",
            AllowedPaths::Parse({"/dev/../etc"}).error().message());
}

TEST(IsUnsafePath, KnowsMemoryAndPorts) {
  for (std::string_view path : {"/dev/mem", "/dev/kmem", "/dev/port"})
    EXPECT_TRUE(IsUnsafePath(path)) << path;
  for (std::string_view path : {"/dev/memory", "/dev", "/dev/mem/x", "/dev/fuse", ""})
    EXPECT_FALSE(IsUnsafePath(path)) << path;
}

}  // namespace
}  // namespace tenon::config
