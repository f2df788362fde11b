#include "tenond/config_watch.h"

#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "config/files.h"

namespace tenon::tenond {
namespace {

/// Editors write in several steps.
constexpr base::Duration kSettle = std::chrono::milliseconds(100);

/// The directory in which a change of what `path` stands for shows.
std::string DirectoryOf(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return path;
  std::string parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent;
}

}  // namespace

ConfigWatch::ConfigWatch(loop::EventLoop& loop, std::vector<std::string> paths,
                         std::function<void()> on_change)
    : loop_(loop), paths_(std::move(paths)), on_change_(std::move(on_change)), seen_(Look()) {
  auto files = host::FileWatch::Create(loop_, host::FileWatch::Interest::kEntriesAndWrites);
  if (files) files_ = *std::move(files);
  WatchDirectories();
}

void ConfigWatch::WatchDirectories() {
  directories_.clear();
  if (!files_) return;
  std::set<std::string> directories;
  for (const std::string& path : paths_)
    directories.insert(DirectoryOf(path));
  for (const std::string& directory : directories) {
    auto watch = files_->Watch(directory, [this](const std::string&, bool) {
      // A timer, as the watch may not be replaced in its own callback.
      settle_ = loop_.timers().After(kSettle, [this] { Check(); });
    });
    // Without it Check() has to be enough.
    if (watch) directories_.push_back(*std::move(watch));
  }
}

void ConfigWatch::Check() {
  Stamps now = Look();
  if (now == seen_) return;
  seen_ = std::move(now);
  WatchDirectories();
  on_change_();
}

ConfigWatch::Stamps ConfigWatch::Look() const {
  Stamps stamps;
  for (const std::string& path : paths_) {
    const auto files = config::FilesAt(path);
    if (!files) continue;
    for (const std::string& file : *files) {
      struct stat now {};
      if (::stat(file.c_str(), &now) != 0) continue;
      stamps[file] = {
          .device = now.st_dev,
          .inode = now.st_ino,
          .size = now.st_size,
          .written_ns = int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec};
    }
  }
  return stamps;
}

}  // namespace tenon::tenond
