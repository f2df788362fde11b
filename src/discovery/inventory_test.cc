#include "discovery/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::discovery {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Reports what the test says.
class FakeSource final : public Source {
 public:
  explicit FakeSource(std::optional<Snapshot> first) : snapshot(std::move(first)) {}
  void Start(ReportFn report) override {
    report_ = std::move(report);
    if (snapshot) Rescan();
  }
  void Rescan() override {
    ReportFn report = report_;
    report(*snapshot);
  }
  void Report(Snapshot devices) {
    snapshot = std::move(devices);
    Rescan();
  }
  std::optional<Snapshot> snapshot;

 private:
  ReportFn report_;
};

FoundDevicePtr Shared(FoundDevice device) {
  return std::make_shared<const FoundDevice>(std::move(device));
}
FoundDevicePtr Healthy(const std::string& id, const std::string& number = "") {
  return Shared({.id = {id}, .device_number = number});
}
FoundDevicePtr Unhealthy(const std::string& id, const std::string& reason) {
  return Shared({.id = {id}, .health = Health::kUnhealthy, .reason = reason});
}

struct InventoryTest : ::testing::Test {
  /// Sources for one resource; the last one is `source`.
  SourcesByResource Sources(const std::string& resource,
                            const std::vector<std::optional<Snapshot>>& firsts) {
    SourcesByResource sources;
    for (const auto& first : firsts) {
      auto one = std::make_unique<FakeSource>(first);
      source = one.get();
      sources[resource].push_back(std::move(one));
    }
    return sources;
  }
  std::vector<std::string> Ids(const std::string& resource) {
    std::vector<std::string> ids;
    for (const Device& device : inventory->devices(resource)->devices)
      ids.push_back(device.id.value);
    return ids;
  }
  const Device& Only() { return inventory->devices("r")->devices.front(); }
  std::vector<std::string> EventTexts() {
    std::vector<std::string> texts;
    for (const DeviceEvent& event : events.events())
      texts.push_back(event.resource + " " + event.device + ": " + event.text);
    return texts;
  }
  base::FakeClock clock;
  base::RecordingLog log;
  EventRing events{100};
  std::vector<std::string> changes;  // "resource revision".
  std::unique_ptr<Inventory> inventory = std::make_unique<Inventory>(
      clock, log, events, [this](const std::string& resource, const DeviceSetPtr& devices) {
        changes.push_back(resource + " " + std::to_string(devices->revision));
      });
  FakeSource* source = nullptr;
};

TEST_F(InventoryTest, SourcesOfAResourceAreMergedAndSortedById) {
  inventory->Replace(Sources("r", {Snapshot{Healthy("b"), Healthy("c")}, Snapshot{Healthy("a")}}));

  EXPECT_THAT(Ids("r"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(changes, ElementsAre("r 1"));
}

TEST_F(InventoryTest, AnEmptyResourceIsPublishedToo) {
  inventory->Replace(Sources("r", {Snapshot{}}));

  EXPECT_THAT(Ids("r"), IsEmpty());
  EXPECT_THAT(changes, ElementsAre("r 1"));
}

TEST_F(InventoryTest, AResourceIsPublishedOnceAllItsSourcesHaveReported) {
  inventory->Replace(Sources("r", {Snapshot{Healthy("a")}, std::nullopt}));
  EXPECT_EQ(nullptr, inventory->devices("r"));

  source->Report({Healthy("b")});

  EXPECT_THAT(Ids("r"), ElementsAre("a", "b"));
  EXPECT_THAT(changes, ElementsAre("r 1"));
}

TEST_F(InventoryTest, TheSameSnapshotAgainChangesNothing) {
  inventory->Replace(Sources("r", {Snapshot{Healthy("a")}}));
  DeviceSetPtr before = inventory->devices("r");

  clock.Advance(seconds(1));
  source->Report({Healthy("a")});

  EXPECT_EQ(before, inventory->devices("r"));
  EXPECT_THAT(changes, ElementsAre("r 1"));
}

TEST_F(InventoryTest, DevicesThatStayTheSameObjectsKeepTheirSinceWhileOthersComeAndGo) {
  const FoundDevicePtr b = Healthy("b", "c 1:3");
  const FoundDevicePtr d = Unhealthy("d", "cold");
  inventory->Replace(Sources("r", {Snapshot{Healthy("a"), b, Healthy("c"), d}}));
  const base::WallTime start = clock.WallNow();

  clock.Advance(seconds(1));
  source->Report({Healthy("aa"), b, d, Healthy("e")});

  EXPECT_THAT(Ids("r"), ElementsAre("aa", "b", "d", "e"));
  std::vector<base::WallTime> since;
  for (const Device& device : inventory->devices("r")->devices)
    since.push_back(device.since);
  EXPECT_THAT(since, ElementsAre(start + seconds(1), start, start, start + seconds(1)));
  EXPECT_EQ("cold", inventory->devices("r")->devices[2].reason);
  source->Report({b, d});
  source->Report({b, d});
  EXPECT_THAT(changes, ElementsAre("r 1", "r 2", "r 3"));
}

TEST_F(InventoryTest, SinceIsWhenTheHealthChangedAndNotItsReason) {
  inventory->Replace(Sources("r", {Snapshot{Healthy("a")}}));
  base::WallTime start = clock.WallNow();
  EXPECT_EQ(start, Only().since);

  clock.Advance(seconds(1));
  source->Report({Unhealthy("a", "one")});
  EXPECT_EQ(start + seconds(1), Only().since);
  clock.Advance(seconds(1));
  source->Report({Unhealthy("a", "other")});

  EXPECT_EQ(start + seconds(1), Only().since);
  EXPECT_EQ("other", Only().reason);
  EXPECT_THAT(changes, ElementsAre("r 1", "r 2", "r 3"));
}

TEST_F(InventoryTest, OfTwoSourcesWithOneIdTheFirstWinsAndItIsLoggedOnce) {
  inventory->Replace(
      Sources("r", {Snapshot{Healthy("a", "c 1:3")}, Snapshot{Healthy("a", "c 1:5")}}));
  source->Report({Healthy("a", "c 1:7")});

  EXPECT_THAT(Ids("r"), ElementsAre("a"));
  EXPECT_EQ("c 1:3", inventory->Find("r", "a")->device_number);
  EXPECT_EQ(1, std::ranges::count_if(log.lines(), [](const std::string& line) {
              return line.find("the first wins") != std::string::npos;
            }));
}

TEST_F(InventoryTest, FindTellsWhatADeviceIsMadeOf) {
  inventory->Replace(Sources("r", {Snapshot{Healthy("b", "c 1:5"), Healthy("a", "c 1:3")}}));

  EXPECT_EQ("c 1:5", inventory->Find("r", "b")->device_number);
  EXPECT_EQ(nullptr, inventory->Find("r", "c"));
  EXPECT_EQ(nullptr, inventory->Find("other", "a"));
  EXPECT_EQ(nullptr, inventory->devices("other"));
}

TEST_F(InventoryTest, WhatHappensToDevicesIsRecorded) {
  inventory->Replace(Sources("r", {Snapshot{Healthy("a", "c 1:3"), Unhealthy("bad", "dusty")}}));
  source->Report({Healthy("a", "c 1:5"), Unhealthy("bad", "dusty"), Healthy("new")});
  source->Report({Unhealthy("a", "broken"), Healthy("bad"), Unhealthy("late", "cold")});

  EXPECT_THAT(EventTexts(), ElementsAre("r : devices found: 2", "r bad: unhealthy: dusty",
                                        "r new: added", "r a: renumbered from c 1:3 to c 1:5",
                                        "r new: removed", "r late: added, unhealthy: cold",
                                        "r a: unhealthy: broken", "r bad: healthy"));
}

TEST_F(InventoryTest, ANewNumberAloneIsNoNewRevisionButIsFound) {
  inventory->Replace(Sources("r", {Snapshot{Healthy("a", "c 1:3")}}));
  source->Report({Healthy("a", "c 1:5")});

  EXPECT_THAT(changes, ElementsAre("r 1"));
  EXPECT_EQ("c 1:5", inventory->Find("r", "a")->device_number);
}

TEST_F(InventoryTest, AReloadKeepsRevisionAndSinceOfWhatStays) {
  inventory->Replace(Sources("r", {Snapshot{Healthy("a"), Healthy("b")}}));
  base::WallTime start = clock.WallNow();
  clock.Advance(seconds(9));

  inventory->Replace(Sources("r", {Snapshot{Healthy("a"), Healthy("c")}}));

  EXPECT_EQ(2U, inventory->devices("r")->revision);
  EXPECT_THAT(Ids("r"), ElementsAre("a", "c"));
  EXPECT_EQ(start, inventory->devices("r")->devices[0].since);
  EXPECT_EQ(start + seconds(9), inventory->devices("r")->devices[1].since);
}

TEST_F(InventoryTest, AReloadToTheSameTellsNothing) {
  inventory->Replace(Sources("r", {Snapshot{Healthy("a")}}));
  size_t before = events.events().size();

  inventory->Replace(Sources("r", {Snapshot{Healthy("a")}}));

  EXPECT_THAT(changes, ElementsAre("r 1"));
  EXPECT_EQ(before, events.events().size());
}

TEST_F(InventoryTest, WhileANewSourceHasNotReportedTheOldDevicesStay) {
  inventory->Replace(Sources("r", {Snapshot{Healthy("a")}}));

  inventory->Replace(Sources("r", {std::nullopt}));
  EXPECT_THAT(Ids("r"), ElementsAre("a"));
  source->Report({Healthy("b")});

  EXPECT_THAT(Ids("r"), ElementsAre("b"));
}

TEST_F(InventoryTest, AReloadForgetsResourcesThatAreGone) {
  inventory->Replace(Sources("r", {Snapshot{Healthy("a")}}));

  inventory->Replace(Sources("s", {Snapshot{Healthy("b")}}));

  EXPECT_EQ(nullptr, inventory->devices("r"));
  EXPECT_EQ(nullptr, inventory->Find("r", "a"));
  EXPECT_THAT(changes, ElementsAre("r 1", "s 1"));
}

TEST_F(InventoryTest, OneBadDeviceRemovesNoOther) {
  inventory->Replace(Sources("r", {Snapshot{Unhealthy("a", "x")}, Snapshot{Healthy("b")}}));

  EXPECT_THAT(Ids("r"), ElementsAre("a", "b"));
}

TEST_F(InventoryTest, RescanAsksEverySource) {
  inventory->Replace(Sources("r", {Snapshot{}, Snapshot{}}));
  source->snapshot = Snapshot{Healthy("a")};

  inventory->Rescan();

  EXPECT_THAT(Ids("r"), ElementsAre("a"));
}

TEST_F(InventoryTest, ACallbackMayReplaceTheSourceThatReports) {
  Inventory* self = nullptr;
  int calls = 0;
  Inventory replacing(clock, log, events, [&](const std::string&, const DeviceSetPtr&) {
    if (++calls == 2) self->Replace(Sources("r", {Snapshot{Healthy("other")}}));
  });
  self = &replacing;
  replacing.Replace(Sources("r", {Snapshot{Healthy("a")}}));

  source->snapshot = Snapshot{Healthy("b")};
  replacing.Rescan();

  EXPECT_EQ("other", replacing.devices("r")->devices.front().id.value);
}

TEST_F(InventoryTest, ACallbackMayDestroyTheInventory) {
  std::unique_ptr<Inventory> own;
  int calls = 0;
  own =
      std::make_unique<Inventory>(clock, log, events, [&](const std::string&, const DeviceSetPtr&) {
        if (++calls == 2) own.reset();
      });
  own->Replace(Sources("r", {Snapshot{Healthy("a")}}));

  source->Report({Healthy("b")});

  EXPECT_EQ(nullptr, own);
}

/// A device of one device node.
FoundDevicePtr WithNode(const std::string& id, unsigned minor, bool shared = false) {
  FoundDevice device{.id = {id}};
  device.paths.push_back({.real_path = "/dev/x", .major = 188, .minor = minor, .shared = shared});
  return Shared(std::move(device));
}

struct ExclusivityTest : InventoryTest {
  /// "id" or "id: why not" of all devices of a resource.
  std::vector<std::string> Texts(const std::string& resource) {
    std::vector<std::string> texts;
    for (const Device& device : inventory->devices(resource)->devices)
      texts.push_back(device.id.value + (device.healthy() ? "" : ": " + device.reason));
    return texts;
  }
  void Offer(const Snapshot& first, const Snapshot& second) {
    SourcesByResource sources = Sources("z", {first});
    first_source = source;
    sources.merge(Sources("a", {second}));
    inventory->Replace(std::move(sources), {"z", "a"});
  }
  FakeSource* first_source = nullptr;
};

TEST_F(ExclusivityTest, TheFirstResourceInTheOrderOfTheFileKeepsADeviceNode) {
  Offer({WithNode("one", 1)}, {WithNode("same", 1), WithNode("other", 2)});

  EXPECT_THAT(Texts("z"), ElementsAre("one"));
  EXPECT_THAT(Texts("a"), ElementsAre("other", "same: /dev/x: also in z"));
}

TEST_F(ExclusivityTest, ADeviceNodeThatIsLeftIsHealthyForTheOther) {
  Offer({WithNode("one", 1)}, {WithNode("same", 1)});
  changes.clear();

  first_source->Report({});

  EXPECT_THAT(Texts("a"), ElementsAre("same"));
  EXPECT_THAT(changes, ElementsAre("z 2", "a 2"));
}

TEST_F(ExclusivityTest, SharedDeviceNodesBelongToNobody) {
  Offer({WithNode("one", 1, true)}, {WithNode("same", 1, true)});

  EXPECT_THAT(Texts("a"), ElementsAre("same"));
}

TEST_F(ExclusivityTest, TwoDevicesOfOneResourceDoNotShareADeviceNodeEither) {
  inventory->Replace(Sources("r", {Snapshot{WithNode("z", 1)}, Snapshot{WithNode("a", 1)}}));

  EXPECT_THAT(Texts("r"), ElementsAre("a: /dev/x: also in r as z", "z"));
}

TEST_F(ExclusivityTest, AHeldDeviceThatVanishesIsUnhealthyUntilItIsReleased) {
  inventory->Replace(Sources("r", {Snapshot{WithNode("a", 1)}}));
  inventory->SetHoldings({{"r", {"a"}, {"c 188:1"}, "pod p"}});
  EXPECT_FALSE(inventory->holdings_matter());

  source->Report({});
  EXPECT_THAT(Texts("r"), ElementsAre("a: vanished while held by pod p"));
  EXPECT_TRUE(inventory->holdings_matter());
  inventory->SetHoldings({});

  EXPECT_THAT(Texts("r"), IsEmpty());
  EXPECT_FALSE(inventory->holdings_matter());
}

TEST_F(ExclusivityTest, AnIdThatChangesWhileTheDeviceIsHeldIsNotOffered) {
  inventory->Replace(Sources("r", {Snapshot{WithNode("new", 1)}}));

  inventory->SetHoldings({{"r", {"old"}, {"c 188:1"}, "pod p"}});
  EXPECT_THAT(Texts("r"), ElementsAre("new: held by pod p as old"));
  inventory->SetHoldings({});

  EXPECT_THAT(Texts("r"), ElementsAre("new"));
}

}  // namespace
}  // namespace tenon::discovery
