#include "tenon/resource/node_patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_api/fake_nodes.h"
#include "tenon/resource/node_resources.h"

namespace tenon::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct NodePatchTest : ::testing::Test {
  fake_api::FakeNodes nodes;
  fake_api::FakeNodes::Entry& lab = nodes.nodes["lab"];

  Value Node() const { return *ParseJson(nodes.Json("lab"), "node"); }
  NodePatch Set(const std::vector<std::string>& wishes,
                Existing existing = Existing::kReplace) const {
    return PatchToSet(Node(), *ParseWishes(wishes), existing);
  }
  NodePatch Remove(const std::vector<std::string>& names) const {
    return PatchToRemove(Node(), *ParseNames(names));
  }
};

TEST_F(NodePatchTest, AddsWhatIsNotThereInOnePatch) {
  NodePatch patch = Set({"example.com/dongle=4", "a.b/c=1"});

  EXPECT_EQ(R"([{"op":"add","path":"/status/capacity/example.com~1dongle","value":"4"},)"
            R"({"op":"add","path":"/status/capacity/a.b~1c","value":"1"}])",
            ToJson(patch.operations));
  EXPECT_THAT(patch.changes, ElementsAre("example.com/dongle: none -> 4", "a.b/c: none -> 1"));
  EXPECT_THAT(patch.refusals, IsEmpty());
}

TEST_F(NodePatchTest, ReplacesOnlyWhatItHasSeen) {
  lab.capacity["a.b/c"] = "2";

  EXPECT_EQ(R"([{"op":"test","path":"/status/capacity/a.b~1c","value":"2"},)"
            R"({"op":"replace","path":"/status/capacity/a.b~1c","value":"3"}])",
            ToJson(Set({"a.b/c=3"}).operations));
}

TEST_F(NodePatchTest, ChangesNothingThatIsWorthTheSame) {
  lab.capacity = {{"a.b/c", "3"}, {"a.b/d", "2Ki"}};

  EXPECT_TRUE(Set({"a.b/c=3000m", "a.b/d=2048"}).empty());
  EXPECT_TRUE(Set({"a.b/c=3"}, Existing::kRefuse).refusals.empty());
}

TEST_F(NodePatchTest, MakesRoomOnANodeThatHasNoCapacityYet) {
  lab.has_capacity = false;

  EXPECT_THAT(ToJson(Set({"a.b/c=1"}).operations),
              HasSubstr(R"([{"op":"add","path":"/status/capacity","value":{}},{"op":"add",)"));
}

TEST_F(NodePatchTest, AddingLeavesAnotherQuantityAlone) {
  lab.capacity = {{"a.b/c", "2"}, {"a.b/zero", "0"}};

  NodePatch patch = Set({"a.b/c=3", "a.b/zero=1"}, Existing::kRefuse);

  EXPECT_THAT(patch.refusals, ElementsAre("a.b/c is there already, 2 of it; 'tenon resource set' "
                                          "changes that"));
  EXPECT_THAT(patch.changes, ElementsAre("a.b/zero: 0 -> 1"));
}

TEST_F(NodePatchTest, LeavesToTheKubeletWhatADevicePluginOffers) {
  lab.capacity = {{"a.b/c", "2"}};
  lab.owners = {{"a.b/c", "kubelet"}};

  EXPECT_THAT(Set({"a.b/c=3"}).refusals, ElementsAre(HasSubstr("a.b/c belongs to the kubelet")));
  EXPECT_THAT(Set({"a.b/c=2"}).refusals, ElementsAre(HasSubstr("a.b/c belongs to the kubelet")));
  EXPECT_THAT(Remove({"a.b/c"}).refusals, ElementsAre(HasSubstr("a.b/c belongs to the kubelet")));
  EXPECT_TRUE(Set({"a.b/c=3"}).empty());
}

TEST_F(NodePatchTest, TakesBackWhatTheKubeletHasSetToZero) {
  lab.capacity = {{"a.b/c", "0"}};
  lab.owners = {{"a.b/c", "kubelet"}};

  EXPECT_THAT(Set({"a.b/c=3"}).changes, ElementsAre("a.b/c: 0 -> 3"));
  EXPECT_THAT(Remove({"a.b/c"}).changes, ElementsAre("a.b/c: 0 -> none"));
}

TEST_F(NodePatchTest, RemovesFromAllocatableAsWell) {
  lab.capacity = {{"a.b/c", "2"}, {"a.b/d", "1"}};
  lab.allocatable = {{"a.b/c", "2"}};

  EXPECT_EQ(R"([{"op":"test","path":"/status/capacity/a.b~1c","value":"2"},)"
            R"({"op":"remove","path":"/status/capacity/a.b~1c"},)"
            R"({"op":"remove","path":"/status/allocatable/a.b~1c"}])",
            ToJson(Remove({"a.b/c", "a.b/gone"}).operations));
  EXPECT_TRUE(Remove({"a.b/gone"}).empty());
}

TEST(NodeResourcesTest, KnowsTheKubeletByWhatOnlyItWrites) {
  // As k3s has it, whose kubelet is part of a program of another name.
  auto node = ParseJson(R"({"metadata":{"managedFields":[
      {"manager":"tenon","fieldsV1":{"f:status":{"f:capacity":{"f:a.b/ours":{}}}}},
      {"manager":"k3s","fieldsV1":{"f:status":{"f:capacity":{"f:cpu":{},"f:a.b/its":{}},
        "f:allocatable":{"f:a.b/ours":{}}}}},
      {"manager":"odd"},{"fieldsV1":{"f:status":{"f:capacity":{"x":{},"f:a.b/other":{}}}}}]},
    "status":{"capacity":{"cpu":"2","a.b/ours":"1","a.b/its":"2","a.b/other":"3"},
      "allocatable":{"a.b/left":"1","kubernetes.io/x":"1"}}})",
                        "node");
  ASSERT_TRUE(node) << node.error().message();

  auto resources = ReadNodeResources(*node);

  ASSERT_EQ(4U, resources.size());
  EXPECT_EQ("tenon", resources["a.b/ours"].manager);
  EXPECT_FALSE(resources["a.b/ours"].is_kubelets);
  EXPECT_EQ("k3s", resources["a.b/its"].manager);
  EXPECT_TRUE(resources["a.b/its"].is_kubelets);
  EXPECT_EQ("", resources["a.b/other"].manager);
  EXPECT_EQ("1", resources["a.b/left"].allocatable);
  EXPECT_EQ("", resources["a.b/left"].capacity);
}

TEST(NodeResourcesTest, KnowsOurOwnKubelet) {
  auto node = ParseJson(R"({"metadata":{"managedFields":[
      {"manager":"tenon-kubelet","fieldsV1":{"f:status":{"f:capacity":{"f:a.b/c":{}}}}}]},
    "status":{"capacity":{"a.b/c":"2"}}})",
                        "node");
  ASSERT_TRUE(node);

  EXPECT_TRUE(ReadNodeResources(*node)["a.b/c"].is_kubelets);
}

TEST(NodeResourcesTest, SurvivesWhatIsNoNode) {
  for (const char* text :
       {"null", "[]", "1", R"({"metadata":{"managedFields":{"a":1}},"status":[]})",
        R"({"metadata":{"managedFields":[1,null]},"status":{"capacity":"x"}})"}) {
    EXPECT_TRUE(ReadNodeResources(*ParseJson(text, "node")).empty()) << text;
  }
}

}  // namespace
}  // namespace tenon::cli
