#include "manager/free_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "manager/fakes_for_test.h"

namespace tenon::manager {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kResource[] = "vendor.com/gpu";

class FreeDevicesTest : public testing::Test {
 protected:
  void List(const std::vector<std::string>& healthy, const std::vector<std::string>& ill = {}) {
    table_.SetList(kResource, ListedDevices(healthy, ill));
  }
  void Take(const std::string& id) {
    ++in_use_[id];
    free_.OnChange(id);
  }
  void GiveBack(const std::string& id) {
    in_use_.erase(id);
    free_.OnChange(id);
  }
  std::vector<std::string> Free() {
    const DeviceRow& row = *table_.Find(kResource);
    std::vector<std::string> ids;
    for (uint32_t index : free_.Of(row, &in_use_))
      ids.push_back(row.devices[index].id);
    return ids;
  }

  DeviceTable table_;
  IdsInUse in_use_;
  FreeDevices free_;
};

TEST_F(FreeDevicesTest, AreThoseThatAreHealthyAndNotInUse) {
  Take("d2");
  List({"d1", "d2", "d3"}, {"d4"});

  EXPECT_THAT(Free(), ElementsAre("d1", "d3"));
}

TEST_F(FreeDevicesTest, FollowWhatIsTakenAndGivenBack) {
  List({"d1", "d2", "d3"}, {"d4"});
  EXPECT_THAT(Free(), ElementsAre("d1", "d2", "d3"));
  Take("d1");
  Take("d3");
  Take("d4");
  Take("elsewhere");
  EXPECT_THAT(Free(), ElementsAre("d2"));
  GiveBack("d1");
  GiveBack("d4");
  EXPECT_THAT(Free(), ElementsAre("d1", "d2"));
}

TEST_F(FreeDevicesTest, FollowTheListsAndTheLossOfThePlugin) {
  List({"d1", "d2"});
  EXPECT_THAT(Free(), ElementsAre("d1", "d2"));
  Take("d1");
  List({"d0", "d1", "d2"});
  EXPECT_THAT(Free(), ElementsAre("d0", "d2"));
  table_.MarkLost(kResource);
  EXPECT_THAT(Free(), IsEmpty());
  table_.Remove(kResource);
  List({"d2"});
  EXPECT_THAT(Free(), ElementsAre("d2"));
}

TEST_F(FreeDevicesTest, ManyChangesThatNobodyAsksAboutAreNotForgotten) {
  std::vector<std::string> ids;
  for (int i = 0; i < 1000; ++i)
    ids.push_back("d" + std::to_string(i));
  List(ids);
  EXPECT_EQ(Free().size(), 1000U);
  for (int i = 0; i < 999; ++i)
    Take(ids[static_cast<size_t>(i)]);
  EXPECT_THAT(Free(), ElementsAre("d999"));
}

}  // namespace
}  // namespace tenon::manager
