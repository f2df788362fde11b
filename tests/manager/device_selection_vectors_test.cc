#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "manager/allocator.h"
#include "manager/reservation.h"
#include "value/value.h"

namespace tenon::manager {
namespace {

constexpr char kResource[] = "vendor.com/gpu";

std::vector<std::string> Strings(const Value* value) {
  std::vector<std::string> strings;
  if (value != nullptr)
    for (const Value& item : value->items())
      strings.push_back(item.text());
  return strings;
}

/// One record: what a real kubelet was given, and what it did.
class Vector {
 public:
  explicit Vector(const Value& record) : record_(record) {
    std::vector<api::ListedDevice> list;
    for (const Value::Member& device : record.Find("devices")->members()) {
      api::ListedDevice& listed = list.emplace_back();
      listed.id = device.key;
      listed.health = *device.value.Find("healthy")->AsBool() ? "Healthy" : "Unhealthy";
      for (const Value& numa : device.value.Find("numa")->items())
        listed.numa_nodes.push_back(*numa.AsInt());
    }
    table_.SetList(kResource, list);
    in_use_ = *pods_.Reserve({"other", "c", kResource}, Strings(record.Find("allocated")));
  }

  void Check() {
    auto start = Selection::Start({.key = {"pod", "c", kResource},
                                   .required = *record_.Find("request")->AsInt(),
                                   .have = {},
                                   .reusable = Strings(record_.Find("reusable")),
                                   .affinity = Affinity()},
                                  Row(), pods_);
    const Value* error = record_.Find("error");
    if (error != nullptr) {
      ASSERT_FALSE(start);
      EXPECT_EQ(start.error().message(), error->text());
      return;
    }
    ASSERT_TRUE(start) << start.error().message();
    Selection selection = **std::move(start);
    bool asks = selection.incomplete() && *record_.Find("prefOption")->AsBool();
    EXPECT_EQ(asks, !record_.Find("prefCall")->is_null());
    CheckChoice(std::move(selection), asks);
  }

 private:
  std::optional<NumaMask> Affinity() const {
    const Value& affinity = *record_.Find("affinity");
    if (affinity.is_null()) return std::nullopt;
    return static_cast<NumaMask>(*affinity.AsInt());
  }
  const DeviceRow* Row() const { return table_.Find(kResource); }

  void CheckChoice(Selection selection, bool asks) {
    std::vector<std::string> preferred;
    if (asks) {
      api::PreferredRequest request = selection.Preference(Row(), pods_);
      const Value& call = *record_.Find("prefCall");
      EXPECT_EQ(request.available, Strings(call.Find("available")));
      EXPECT_EQ(request.must_include, Strings(call.Find("must_include")));
      EXPECT_EQ(request.size, call.Find("size")->AsInt());
      // The plugin of the recording: what must be in, then the rest in order.
      preferred = request.must_include;
      preferred.insert(preferred.end(), request.available.begin(), request.available.end());
    }
    auto chosen = std::move(selection).Finish(preferred, Row(), pods_);
    ASSERT_TRUE(chosen) << chosen.error().message();
    std::vector<std::string> expected = Strings(record_.Find("result"));
    EXPECT_EQ(chosen->size(), expected.size());
    // Without a preference the kubelet's choice is arbitrary and ours is not.
    if (asks) {
      EXPECT_THAT(*chosen, testing::UnorderedElementsAreArray(expected));
    }
    for (const std::string& id : Strings(record_.Find("reusable")))
      EXPECT_THAT(*chosen, testing::Contains(id));
  }

  const Value& record_;
  DeviceTable table_;
  PodDevices pods_;
  std::unique_ptr<Reservation> in_use_;
};

TEST(DeviceSelectionVectorsTest, ChoosesAsARealKubelet) {
  std::ifstream file(TENON_VECTORS "/device_selection.jsonl");
  size_t line_number = 0;
  for (std::string line; std::getline(file, line);) {
    SCOPED_TRACE("line " + std::to_string(++line_number));
    auto record = ParseJson(line, "device_selection.jsonl");
    ASSERT_TRUE(record) << record.error().message();
    Vector(*record).Check();
  }
  EXPECT_EQ(line_number, 980U);
}

}  // namespace
}  // namespace tenon::manager
