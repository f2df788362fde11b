#include "discovery/directory_watches.h"

#include <utility>

namespace tenon::discovery {

bool DirectoryWatches::IsWatched(const std::string& directory, const host::FileStat& file) const {
  auto entry = watched_.find(directory);
  return entry != watched_.end() && entry->second.device == file.device &&
         entry->second.inode == file.inode;
}

Result<void> DirectoryWatches::Watch(const std::string& directory, const host::FileStat& file) {
  TENON_TRY(auto watch, files_->Watch(host_.HostPath(directory),
                                      [this, directory](const std::string& name, bool gone) {
                                        OnEvent(directory, name, gone);
                                      }));
  watched_.insert_or_assign(directory, Watched{file.device, file.inode, std::move(watch)});
  return {};
}

bool DirectoryWatches::Follow(const std::set<std::string>& directories) {
  bool was_complete = std::exchange(complete_, files_ != nullptr);
  if (files_ == nullptr) return false;
  std::erase_if(watched_, [&](const auto& entry) { return !directories.contains(entry.first); });
  bool look_again = false;
  for (const std::string& directory : directories) {
    auto file = host_.StatLink(directory);
    if (file && IsWatched(directory, *file)) continue;
    watched_.erase(directory);
    auto watched = file ? Watch(directory, *file) : Result<void>(std::move(file).error());
    if (watched || watched.error().code() == Code::kNotFound) {
      look_again = true;
      continue;
    }
    // One line tells of all: the limits that make watches fail are the same for each.
    if (std::exchange(complete_, false) && was_complete)
      log_.Warning("cannot watch a directory, looking every few seconds instead",
                   {{"directory", directory}, {"error", watched.error().message()}});
  }
  return look_again;
}

void DirectoryWatches::OnEvent(const std::string& directory, const std::string& name, bool gone) {
  if (gone) watched_.erase(directory);
  changed_(directory, gone ? "" : name);
}

}  // namespace tenon::discovery
