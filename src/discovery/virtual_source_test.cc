#include "discovery/virtual_source.h"

#include <gtest/gtest.h>

namespace tenon::discovery {
namespace {

TEST(VirtualSource, OffersItsCountOfHealthyDevicesWithoutFiles) {
  Snapshot devices;
  VirtualSource source({.count = 12});
  source.Start([&](Snapshot snapshot) { devices = std::move(snapshot); });

  ASSERT_EQ(12U, devices.size());
  EXPECT_EQ("v-0", devices.front()->id.value);
  EXPECT_EQ("v-11", devices.back()->id.value);
  EXPECT_EQ(Health::kHealthy, devices.front()->health);
  EXPECT_TRUE(devices.front()->paths.empty());
}

TEST(VirtualSource, APrefixTellsRulesOfOneResourceApart) {
  Snapshot devices;
  VirtualSource source({.count = 1, .prefix = "v2"});
  source.Start([&](Snapshot snapshot) { devices = std::move(snapshot); });

  EXPECT_EQ("v2-0", devices.front()->id.value);
}

TEST(VirtualSource, ARescanReportsTheSame) {
  std::vector<Snapshot> reports;
  VirtualSource source({.count = 3});
  source.Start([&](Snapshot snapshot) { reports.push_back(std::move(snapshot)); });
  source.Rescan();

  ASSERT_EQ(2U, reports.size());
  ASSERT_EQ(reports[0].size(), reports[1].size());
  for (size_t i = 0; i < reports[0].size(); ++i)
    EXPECT_EQ(*reports[0][i], *reports[1][i]);
}

TEST(VirtualSource, MayBeDestroyedInItsReport) {
  auto source = std::make_unique<VirtualSource>(VirtualOptions{.count = 1});
  source->Start([&](const Snapshot&) { source.reset(); });

  EXPECT_EQ(nullptr, source);
}

}  // namespace
}  // namespace tenon::discovery
