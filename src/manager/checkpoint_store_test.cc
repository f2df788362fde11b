#include "manager/checkpoint_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "checkpoint/checkpoint.h"
#include "loop/event_loop.h"
#include "manager/fakes_for_test.h"

namespace tenon::manager {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CheckpointStoreTest : public testing::Test {
 protected:
  void Save(const std::string& name) {
    store_->Save([this, name](const Result<void>& result) {
      ends_.push_back(name + (result ? " saved" : ": " + result.error().message()));
    });
  }
  /// What the store saves: a resource named after the present state.
  std::string State() const {
    checkpoint::Checkpoint state;
    state.registered_devices.emplace();
    (*state.registered_devices)["state " + std::to_string(state_)];
    return checkpoint::Encode(state);
  }

  loop::TimerQueue timers_{base::MonotonicTime(std::chrono::hours(1))};
  FakeCheckpointFile file_{timers_};
  int state_ = 1;
  std::unique_ptr<CheckpointStore> store_ =
      std::make_unique<CheckpointStore>(timers_, file_, [this] { return State(); });
  std::vector<std::string> ends_;
};

TEST_F(CheckpointStoreTest, AnswersOnceTheStateIsWritten) {
  Save("a");
  EXPECT_THAT(ends_, IsEmpty());
  Settle(timers_);

  EXPECT_THAT(ends_, ElementsAre("a saved"));
  EXPECT_EQ(*file_.content, State());
}

TEST_F(CheckpointStoreTest, AllThatAskDuringAWriteShareTheNext) {
  file_.hold = true;
  Save("a");
  state_ = 2;
  Save("b");
  Save("c");
  EXPECT_EQ(file_.writes, 1);

  file_.Release();
  EXPECT_THAT(ends_, ElementsAre("a saved"));
  EXPECT_EQ(file_.writes, 2);
  state_ = 3;
  file_.Release();

  EXPECT_THAT(ends_, ElementsAre("a saved", "b saved", "c saved"));
  EXPECT_EQ(file_.writes, 2);
  state_ = 2;
  EXPECT_EQ(*file_.content, State());
}

TEST_F(CheckpointStoreTest, TellsAFailureAsTheKubeletDoes) {
  file_.write_error = Error(Code::kResourceExhausted, "write x: No space left on device", 28);

  Save("a");
  Settle(timers_);

  EXPECT_THAT(ends_, ElementsAre("a: failed to write checkpoint file "
                                 "\"kubelet_internal_checkpoint\": write x: No space left on "
                                 "device"));
}

TEST_F(CheckpointStoreTest, AFailureDoesNotStopTheNextWrite) {
  file_.hold = true;
  file_.write_error = Error(Code::kInternal, "EIO");
  Save("a");
  Save("b");
  file_.Release();
  file_.write_error.reset();
  file_.Release();

  EXPECT_THAT(ends_, ElementsAre(testing::HasSubstr("EIO"), "b saved"));
}

TEST_F(CheckpointStoreTest, WhatAFailureUndoesIsNotInTheNextWrite) {
  file_.hold = true;
  state_ = 7;
  store_->Save([this](const Result<void>& result) {
    if (!result) state_ = 6;
  });
  Save("b");
  file_.write_error = Error(Code::kInternal, "EIO");
  file_.Release();
  file_.write_error.reset();
  file_.Release();

  EXPECT_THAT(*file_.content, testing::HasSubstr("state 6"));
  EXPECT_THAT(ends_, ElementsAre("b saved"));
}

TEST_F(CheckpointStoreTest, TriesAgainAfterAFailureUntilTheFileIsRight) {
  file_.write_error = Error(Code::kInternal, "EIO");
  Save("a");
  Settle(timers_);
  timers_.Advance(CheckpointStore::kRetryDelay);
  Settle(timers_);
  EXPECT_EQ(file_.writes, 2);
  file_.write_error.reset();
  timers_.Advance(CheckpointStore::kRetryDelay);
  Settle(timers_);

  EXPECT_EQ(file_.content, State());
  EXPECT_EQ(ends_.size(), 1U);
  timers_.Advance(std::chrono::hours(1));
  EXPECT_EQ(file_.writes, 3);
}

TEST_F(CheckpointStoreTest, WritesWhatItStillOwesWhenItEnds) {
  file_.hold = true;
  Save("a");
  state_ = 2;
  Save("b");

  store_.reset();
  file_.Release();

  EXPECT_EQ(*file_.content, State());
  EXPECT_THAT(ends_, IsEmpty());
}

class DiskCheckpointFileTest : public testing::Test {
 protected:
  DiskCheckpointFileTest() {
    std::string pattern = testing::TempDir() + "checkpoint.XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    loop_ = *loop::EventLoop::Create(clock_);
    worker_ = std::make_unique<loop::Worker>(loop_->handle());
  }
  ~DiskCheckpointFileTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name = std::string(checkpoint::kFileName)) const {
    return directory_ + "/" + name;
  }
  Result<void> Write(DiskCheckpointFile& file, const std::string& content) {
    std::optional<Result<void>> result;
    file.Write(content, [&](const Result<void>& r) { result = r; });
    EXPECT_TRUE(loop_->RunUntil([&] { return result.has_value(); }, std::chrono::seconds(10)));
    return *result;
  }

  base::SystemClock clock_;
  std::string directory_;
  std::unique_ptr<loop::EventLoop> loop_;
  std::unique_ptr<loop::Worker> worker_;
};

TEST_F(DiskCheckpointFileTest, ReadsBackWhatItWrote) {
  DiskCheckpointFile file(*worker_, directory_);
  EXPECT_EQ(*file.Read(), std::nullopt);

  ASSERT_TRUE(Write(file, "content"));

  EXPECT_EQ(*file.Read(), "content");
  struct stat st;
  ASSERT_EQ(::stat(Path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777U, 0600U);
}

TEST_F(DiskCheckpointFileTest, SetsEachCorruptFileAsideUnderANameOfItsOwn) {
  DiskCheckpointFile file(*worker_, directory_);
  ASSERT_TRUE(Write(file, "one"));
  EXPECT_EQ(*file.SetAside(), Path("kubelet_internal_checkpoint.corrupt-1"));
  ASSERT_TRUE(Write(file, "two"));
  EXPECT_EQ(*file.SetAside(), Path("kubelet_internal_checkpoint.corrupt-2"));

  EXPECT_EQ(*file.Read(), std::nullopt);
  std::string kept;
  std::ifstream(Path("kubelet_internal_checkpoint.corrupt-1")) >> kept;
  EXPECT_EQ(kept, "one");
}

TEST_F(DiskCheckpointFileTest, RemovesWhatWritesThatWereCutShortHaveLeft) {
  DiskCheckpointFile file(*worker_, directory_);
  std::ofstream(Path(".kubelet_internal_checkpoint.Xy12ab")) << "half";
  std::ofstream(Path(".other")) << "";

  EXPECT_EQ(*file.Read(), std::nullopt);

  EXPECT_FALSE(std::filesystem::exists(Path(".kubelet_internal_checkpoint.Xy12ab")));
  EXPECT_TRUE(std::filesystem::exists(Path(".other")));
}

TEST_F(DiskCheckpointFileTest, SaysWhyItCannotWriteOrRead) {
  DiskCheckpointFile file(*worker_, directory_);
  std::filesystem::create_directory(Path());

  Result<void> written = Write(file, "content");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), testing::HasSubstr(Path()));
  auto read = file.Read();
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), testing::HasSubstr(Path()));
}

}  // namespace
}  // namespace tenon::manager
