#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/checkpoint.h"

namespace tenon::checkpoint {
namespace {

TEST(CheckpointVectorsTest, FilesOfARealKubeletAreReadAndWrittenAlike) {
  std::ifstream file(TENON_VECTORS "/checkpoint.jsonl");
  size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    auto checkpoint = Decode(line, "line " + std::to_string(count + 1));

    ASSERT_TRUE(checkpoint) << checkpoint.error().message();
    EXPECT_EQ(Encode(*checkpoint), line);
  }
  EXPECT_EQ(count, 300U);
}

}  // namespace
}  // namespace tenon::checkpoint
