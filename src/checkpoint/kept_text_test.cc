#include "checkpoint/kept_text.h"

#include <gtest/gtest.h>

#include <random>

namespace tenon::checkpoint {
namespace {

Entry AnEntry(const std::string& pod) {
  return {.pod_uid = pod,
          .container_name = "c",
          .resource_name = "vendor.com/gpu",
          .device_ids = {{{0, Ids({"id-" + pod})}}},
          .alloc_resp = "answer of " + pod};
}

/// The same content beside the text that is tested.
class KeptTextTest : public testing::Test {
 protected:
  void Add(const std::string& pod) { kept_[text_.Add(AnEntry(pod))] = AnEntry(pod); }
  void Remove(KeptText::Number number) {
    text_.Remove(number);
    kept_.erase(number);
  }
  void Check() {
    Checkpoint same;
    for (const auto& [number, entry] : kept_) {
      if (!same.entries) same.entries.emplace();
      same.entries->push_back(entry);
    }
    same.registered_devices = registered_;
    ASSERT_EQ(text_.Encode(), Encode(same));
  }

  KeptText text_;
  std::map<KeptText::Number, Entry> kept_;
  std::map<std::string, Ids> registered_;
};

TEST_F(KeptTextTest, AnEmptyOneIsAsAKubeletWritesIt) {
  EXPECT_EQ(text_.Encode(),
            R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661})");
}

TEST_F(KeptTextTest, EntriesComeAndGoAnywhere) {
  for (const char* pod : {"a", "b", "c", "d"}) {
    Add(pod);
    Check();
  }
  Remove(4);
  Check();
  Remove(1);
  Check();
  Add("e");
  Remove(2);
  Check();
  Remove(3);
  Remove(5);
  Check();
}

TEST_F(KeptTextTest, WhatIsRemovedBeforeItWasEverWrittenLeavesNothing) {
  Add("a");
  Check();
  Add("b");
  Remove(2);
  Check();
  Add("c");
  Check();
}

TEST_F(KeptTextTest, RandomHistoriesGiveTheTextOfTheWholeContent) {
  std::mt19937 random(20);
  const auto below = [&random](size_t n) { return random() % n; };
  for (int step = 0; step < 3000; ++step) {
    if (size_t action = below(8); action < 3) {
      Add("pod-" + std::to_string(step));
    } else if (action < 5 && !kept_.empty()) {
      Remove(std::next(kept_.begin(), static_cast<std::ptrdiff_t>(below(kept_.size())))->first);
    } else if (action == 5) {
      const std::string resource = "vendor.com/r" + std::to_string(below(4));
      std::vector<std::string> ids(below(3), "<d" + std::to_string(step) + ">");
      registered_[resource] = ids;
      text_.SetRegistered(resource, ids);
    } else if (action == 6) {
      const std::string resource = "vendor.com/r" + std::to_string(below(4));
      registered_.erase(resource);
      text_.RemoveRegistered(resource);
    }
    if (below(2) == 0) Check();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tenon::checkpoint
