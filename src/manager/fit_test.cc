#include "manager/fit.h"

#include <gtest/gtest.h>

#include "manager/reservation.h"

namespace tenon::manager {
namespace {

constexpr char kResource[] = "vendor.com/gpu";

class FitTest : public testing::Test {
 protected:
  void List(int healthy, int ill) {
    std::vector<api::ListedDevice> list;
    for (int i = 0; i < healthy + ill; ++i)
      list.push_back({.id = std::to_string(i), .health = i < healthy ? "Healthy" : "Unhealthy"});
    table_.SetList(kResource, list);
  }
  std::string Check(int64_t requested, int64_t used) {
    auto unfit = FirstUnfit({{kResource, requested}}, {{kResource, used}}, table_, pods_);
    return unfit ? unfit->Message() : "fits";
  }

  DeviceTable table_;
  PodDevices pods_;
};

TEST_F(FitTest, CountsHealthyDevicesLessWhatOtherPodsRequest) {
  List(3, 1);

  EXPECT_EQ(Check(2, 1), "fits");
  EXPECT_EQ(Check(2, 2),
            "Node didn't have enough resource: vendor.com/gpu, requested: 2, used: 2, capacity: 3");
  EXPECT_EQ(Check(INT64_MAX, 1),
            "Node didn't have enough resource: vendor.com/gpu, requested: 9223372036854775807, "
            "used: 1, capacity: 3");
}

// DM-17, TestUpdatePluginResources: what pods hold raises what is offered and never lowers it.
TEST_F(FitTest, OffersAtLeastWhatPodsHold) {
  List(1, 2);
  auto reservation = pods_.Reserve({"pod", "c", kResource}, {"0", "1", "2"});

  EXPECT_EQ(Check(3, 0), "fits");
  List(5, 0);
  EXPECT_EQ(Check(5, 0), "fits");
}

TEST_F(FitTest, LeavesOutWhatTheKubeNodeNeverHad) {
  EXPECT_EQ(Check(7, 7), "fits");
}

TEST_F(FitTest, OffersNothingOfARemovedResource) {
  List(1, 0);
  table_.Remove(kResource);

  EXPECT_EQ(Check(0, 0), "fits");
  EXPECT_EQ(Check(1, 0),
            "Node didn't have enough resource: vendor.com/gpu, requested: 1, used: 0, capacity: 0");
}

}  // namespace
}  // namespace tenon::manager
