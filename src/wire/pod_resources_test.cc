#include "wire/pod_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::wire {
namespace {

using std::string_literals::operator""s;

TEST(PodResourcesTest, ListGoesThereAndBack) {
  std::vector<PodResources> pods = {
      {.name = "web",
       .namespace_name = "default",
       .containers = {{.name = "main",
                       .devices = {{.resource_name = "example.com/serial",
                                    .device_ids = {"a", "b"},
                                    .numa_nodes = {0, -1}},
                                   {.resource_name = "example.com/fuse", .device_ids = {"f"}}}},
                      {.name = "idle"}}},
      {},
  };

  auto decoded = DecodePodResources(EncodePodResources(pods));

  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, pods);
}

TEST(PodResourcesTest, AllocatableDevicesAndTheNameOfOnePodGoThereAndBack) {
  const std::vector<ContainerDevices> devices = {{"example.com/serial", {"a"}, {0}},
                                                 {"example.com/serial", {"b"}, {}}};
  const PodName pod{.name = "web", .namespace_name = "default"};

  EXPECT_EQ(*DecodeAllocatableResources(EncodeAllocatableResources(devices)), devices);
  EXPECT_EQ(*DecodeGetPodResourcesRequest(EncodeGetPodResourcesRequest(pod)), pod);
  EXPECT_EQ(EncodeGetPodResourcesRequest({"a", "b"}), "\x0a\x01\x61\x12\x01\x62"s);
}

TEST(PodResourcesTest, CpusMemoryAndClaimsAreSkipped) {
  auto pods = DecodePodResources(
      "\x0a\x17\x1a\x15"
      "\x0a\x01"
      "c"                         // name
      "\x1a\x02\x03\x04"          // cpu_ids, packed
      "\x18\x05"                  // cpu_ids, one by one
      "\x22\x04\x0a\x00\x10\x07"  // memory
      "\x2a\x04\x12\x02id"s);     // dynamic_resources

  ASSERT_TRUE(pods) << pods.error().message();
  EXPECT_EQ(*pods, (std::vector<PodResources>{{.containers = {{.name = "c"}}}}));
}

TEST(PodResourcesTest, TextThatIsNotUtf8IsRefusedByName) {
  auto pods = DecodePodResources("\x0a\x03\x12\x01\xff"s);

  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().message(), "PodResources.namespace: text is not valid UTF-8 at byte 4");
}

}  // namespace
}  // namespace tenon::wire
