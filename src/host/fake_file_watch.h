#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/file_watch.h"

namespace tenon::host {

/// A FileWatch for tests without inotify: it records which paths are watched, and the test says
/// what happens there.
class FakeFileWatch final : public FileWatch {
 public:
  Result<std::unique_ptr<DirectoryWatch>> Watch(const std::string& path,
                                                Callback callback) override {
    if (on_watch) on_watch(path);
    if (failure) return Error(*failure);
    auto entry = std::make_shared<Entry>(Entry{path, std::move(callback)});
    entries_->push_back(entry);
    return std::unique_ptr<DirectoryWatch>(new FakeDirectoryWatch(entries_, std::move(entry)));
  }

  /// Tells the watches of `path` of an event there.
  void Fire(const std::string& path, const std::string& name, bool gone = false) {
    for (const auto& entry : Entries(*entries_))
      if (entry->path == path && Watched(entry)) entry->callback(name, gone);
  }
  /// The watched paths, sorted; one that is watched twice stands twice.
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (const auto& entry : *entries_)
      paths.push_back(entry->path);
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  std::optional<Error> failure;                      ///< What Watch() returns while it is set.
  std::function<void(const std::string&)> on_watch;  ///< Runs before each watch is made.

 private:
  struct Entry {
    std::string path;
    Callback callback;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;

  class FakeDirectoryWatch final : public DirectoryWatch {
   public:
    FakeDirectoryWatch(std::shared_ptr<Entries> entries, std::shared_ptr<Entry> entry)
        : entries_(std::move(entries)), entry_(std::move(entry)) {}
    ~FakeDirectoryWatch() override { std::erase(*entries_, entry_); }

   private:
    const std::shared_ptr<Entries> entries_;
    const std::shared_ptr<Entry> entry_;
  };

  bool Watched(const std::shared_ptr<Entry>& entry) const {
    return std::find(entries_->begin(), entries_->end(), entry) != entries_->end();
  }

  const std::shared_ptr<Entries> entries_ = std::make_shared<Entries>();
};

}  // namespace tenon::host
