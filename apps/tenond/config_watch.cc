#include "tenond/config_watch.h"

#include <sys/stat.h>

#include <filesystem>
#include <utility>

namespace tenon::tenond {
namespace {

/// Editors write in several steps.
constexpr base::Duration kSettle = std::chrono::milliseconds(100);

}  // namespace

ConfigWatch::ConfigWatch(loop::EventLoop& loop, std::string path, std::function<void()> on_change)
    : loop_(loop), path_(std::move(path)), on_change_(std::move(on_change)), seen_(Look()) {
  auto files = host::FileWatch::Create(loop_, host::FileWatch::Interest::kEntriesAndWrites);
  if (files) files_ = *std::move(files);
  WatchDirectory();
}

void ConfigWatch::WatchDirectory() {
  directory_.reset();
  if (!files_) return;
  std::string directory = std::filesystem::path(path_).parent_path();
  if (directory.empty()) directory = ".";
  auto watch = files_->Watch(directory, [this](const std::string&, bool) {
    // A timer, as the watch may not be replaced in its own callback.
    settle_ = loop_.timers().After(kSettle, [this] { Check(); });
  });
  // Without it Check() has to be enough.
  if (watch) directory_ = *std::move(watch);
}

void ConfigWatch::Check() {
  Stamp now = Look();
  if (now == seen_) return;
  seen_ = now;
  WatchDirectory();
  on_change_();
}

ConfigWatch::Stamp ConfigWatch::Look() const {
  struct stat now {};
  if (::stat(path_.c_str(), &now) != 0) return {};
  return {.device = now.st_dev,
          .inode = now.st_ino,
          .size = now.st_size,
          .written_ns = int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec};
}

}  // namespace tenon::tenond
