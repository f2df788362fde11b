#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"

namespace tenon::checkpoint {
namespace {

Checkpoint WithRegistered(std::map<std::string, Ids> registered) {
  return {.registered_devices = std::move(registered)};
}

TEST(ChecksumTest, IsTheKubeletsWithoutEntries) {
  EXPECT_EQ(Checksum(WithRegistered({})), 3467439661U);
  EXPECT_EQ(Checksum(WithRegistered({{"vendor.com/gpu", Ids(std::in_place)}})), 2964628569U);
  EXPECT_EQ(Checksum(WithRegistered({{"example.com/dev", {{"d1"}}}})), 1054308033U);
  EXPECT_EQ(Checksum({}), 1944006890U);
}

TEST(ChecksumTest, IsTheKubeletsForAnEntry) {
  Checkpoint checkpoint{
      .entries = {{{
          .pod_uid = "11111111-2222-3333-4444-555555555555",
          .container_name = "main",
          .resource_name = "vendor.com/gpu",
          .device_ids = {{{0, {{"d0"}}}}},
          .alloc_resp = "\x0a\x0d\x0a\x07VISIBLE\x12\x02"
                        "d0"
                        "\x1a\x16\x0a\x07/dev/x0\x12\x07/dev/x0\x1a\x02rw",
      }}},
      .registered_devices = {{{"vendor.com/gpu", {{"d0", "d1"}}}}},
  };

  EXPECT_EQ(Checksum(checkpoint), 3693125021U);
}

TEST(ChecksumTest, TellsNothingFromAnEmptyList) {
  Entry entry{.device_ids = {{{0, std::nullopt}}}, .alloc_resp = std::nullopt};
  auto checksum = [](const Entry& e) { return Checksum({.entries = {{e}}}); };
  const uint32_t before = checksum(entry);

  entry.device_ids->at(0).emplace();
  const uint32_t with_list = checksum(entry);
  entry.alloc_resp.emplace();

  EXPECT_NE(before, with_list);
  EXPECT_NE(with_list, checksum(entry));
  EXPECT_NE(Checksum({}), Checksum({.entries = std::vector<Entry>()}));
}

}  // namespace
}  // namespace tenon::checkpoint
