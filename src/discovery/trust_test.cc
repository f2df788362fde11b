#include "discovery/trust.h"

#include <gtest/gtest.h>

namespace tenon::discovery {
namespace {

using host::FileKind;
using host::FileStat;

constexpr FileStat kNull{.kind = FileKind::kCharacterDevice, .major = 1, .minor = 3};
constexpr FileStat kDisk{.kind = FileKind::kBlockDevice, .major = 8, .minor = 0};

std::string Verdict(const Trust& trust, std::string_view path, const FileStat& file) {
  auto checked = trust.Check(path, file);
  return checked ? "allowed" : checked.error().message();
}

TEST(Trust, DevIsAllowedAndNothingElseIs) {
  EXPECT_EQ("allowed", Verdict({}, "/dev/null", kNull));
  EXPECT_EQ("allowed", Verdict({}, "/dev/bus/usb/001/002", kNull));
  EXPECT_EQ("leads to /device/null, outside of what rules may reach",
            Verdict({}, "/device/null", kNull));
  EXPECT_EQ("leads to /home/dev/null, outside of what rules may reach",
            Verdict({}, "/home/dev/null", kNull));
}

TEST(Trust, AllowedPrefixesCoverWholeComponents) {
  Trust trust{.allowed_prefixes = {"/opt/devices", "/srv/"}};

  EXPECT_EQ("allowed", Verdict(trust, "/opt/devices/x", kNull));
  EXPECT_EQ("allowed", Verdict(trust, "/srv/x", kNull));
  EXPECT_FALSE(trust.Covers("/opt/devices2/x"));
  EXPECT_TRUE((Trust{.allowed_prefixes = {"/"}}.Covers("/anything")));
}

TEST(Trust, MemoryAndPortsNeedAnUnsafeRuleWhateverTheirName) {
  constexpr std::string_view kRefused =
      "is the memory or the ports of the machine, which only an unsafe rule may offer";
  for (unsigned minor : {1U, 2U, 4U}) {
    FileStat memory{.kind = FileKind::kCharacterDevice, .major = 1, .minor = minor};
    EXPECT_EQ(kRefused, Verdict({}, "/dev/innocent", memory)) << minor;
    EXPECT_EQ("allowed", Verdict({.unsafe = true}, "/dev/innocent", memory)) << minor;
  }
  for (const char* path : {"/dev/mem", "/dev/kmem", "/dev/port"})
    EXPECT_EQ(kRefused, Verdict({}, path, kNull)) << path;
}

TEST(Trust, BlockDevicesNeedAnUnsafeRule) {
  EXPECT_EQ("is a block device, which only an unsafe rule may offer",
            Verdict({}, "/dev/sda", kDisk));
  EXPECT_EQ("allowed", Verdict({.unsafe = true}, "/dev/sda", kDisk));
}

TEST(Trust, AnUnsafeRuleStaysInsideTheAllowedPaths) {
  EXPECT_EQ("leads to /srv/sda, outside of what rules may reach",
            Verdict({.unsafe = true}, "/srv/sda", kDisk));
}

}  // namespace
}  // namespace tenon::discovery
