#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "host/host.h"

namespace tenon::host {

/// A machine in memory, for tests that look at one more often than a file system bears, or that
/// have no right to make device nodes. Directories on the way are made.
class MemoryHost : public Host {
 public:
  MemoryHost() { entries_[""].kind = FileKind::kDirectory; }

  void Directory(const std::string& path) { Make(path).kind = FileKind::kDirectory; }
  void File(const std::string& path, const std::string& content) {
    Entry& entry = Make(path);
    entry.kind = FileKind::kRegular;
    entry.text = content;
  }
  /// Absolute targets only. Replaces what is there.
  void Link(const std::string& path, const std::string& target) {
    Entry& entry = Make(path);
    entry.kind = FileKind::kSymlink;
    entry.text = target;
  }
  void CharacterDevice(const std::string& path, unsigned major, unsigned minor) {
    Entry& entry = Make(path);
    entry.kind = FileKind::kCharacterDevice;
    entry.major = major;
    entry.minor = minor;
  }
  /// With all that is below.
  void Remove(const std::string& path) {
    auto below = entries_.lower_bound(path + "/");
    while (below != entries_.end() && below->first.starts_with(path + "/"))
      below = entries_.erase(below);
    entries_.erase(path);
    if (auto parent = entries_.find(Parent(path)); parent != entries_.end())
      parent->second.names.erase(path.substr(path.rfind('/') + 1));
  }
  /// Whether the path itself is there.
  bool Has(const std::string& path) const { return entries_.contains(path); }

  Result<FileStat> Stat(const std::string& path) override { return StatOf(path, true); }
  Result<FileStat> StatLink(const std::string& path) override { return StatOf(path, false); }
  Result<std::string> RealPath(const std::string& path) override {
    return Walk(path, true, nullptr);
  }
  Result<std::string> TracePath(const std::string& path,
                                std::set<std::string>& directories) override {
    return Walk(path, true, &directories);
  }
  Result<std::vector<std::string>> List(const std::string& path) override {
    auto real_path = Walk(path, true, nullptr);
    if (!real_path) return std::move(real_path).error();
    const Entry& entry = entries_.at(Key(*real_path));
    if (entry.kind != FileKind::kDirectory) return Fails("list", path, ENOTDIR);
    std::vector<std::string> names(entry.names.begin(), entry.names.end());
    if (reorder) reorder(names);
    return names;
  }
  Result<std::string> Read(const std::string& path, size_t most) override {
    auto real_path = Walk(path, true, nullptr);
    if (!real_path) return std::move(real_path).error();
    const Entry& entry = entries_.at(Key(*real_path));
    if (entry.kind != FileKind::kRegular)
      return Error(Code::kInvalidArgument, "read " + path + ": no regular file");
    return entry.text.substr(0, most);
  }
  std::string HostPath(const std::string& path) const override { return path; }

  /// Changes the order in which directories are listed, as file systems may.
  std::function<void(std::vector<std::string>&)> reorder;

 private:
  struct Entry {
    FileKind kind = FileKind::kOther;
    unsigned major = 0;
    unsigned minor = 0;
    uint64_t inode = 0;
    std::string text;             ///< Of a file; the target of a symlink.
    std::set<std::string> names;  ///< In a directory.
  };

  /// The root's key is empty, so that each other one is its parent's, "/" and a name.
  static std::string Key(const std::string& path) { return path == "/" ? "" : path; }
  static std::string Parent(const std::string& path) { return path.substr(0, path.rfind('/')); }
  static Error Fails(const std::string& call, const std::string& path, int number) {
    return {number == ENOENT ? Code::kNotFound : Code::kInvalidArgument, call + " " + path, number};
  }

  Entry& Make(const std::string& path) {
    if (path.empty()) return entries_.at("");
    auto [entry, is_new] = entries_.try_emplace(path);
    if (!is_new) return entry->second;
    entry->second.inode = ++last_inode_;
    Entry& parent = Make(Parent(path));
    parent.kind = FileKind::kDirectory;
    parent.names.insert(path.substr(path.rfind('/') + 1));
    return entry->second;
  }

  Result<std::string> Walk(const std::string& path, bool follow_last,
                           std::set<std::string>* directories, int links = 0) const {
    if (links > 40) return Fails("walk", path, ELOOP);
    std::string at;
    std::vector<std::string_view> names = base::Split(path, '/');
    std::erase(names, "");
    for (size_t i = 0; i < names.size(); ++i) {
      if (entries_.at(at).kind != FileKind::kDirectory) return Fails("walk", path, ENOTDIR);
      if (directories != nullptr) directories->insert(at.empty() ? "/" : at);
      const std::string next = at + "/" + std::string(names[i]);
      const auto entry = entries_.find(next);
      if (entry == entries_.end()) return Fails("walk", path, ENOENT);
      at = next;
      if (entry->second.kind != FileKind::kSymlink || (i + 1 == names.size() && !follow_last))
        continue;
      auto target = Walk(entry->second.text, true, directories, links + 1);
      if (!target) return target;
      at = Key(*target);
    }
    return at.empty() ? "/" : at;
  }
  Result<FileStat> StatOf(const std::string& path, bool follow) const {
    auto real_path = Walk(path, follow, nullptr);
    if (!real_path) return std::move(real_path).error();
    const Entry& entry = entries_.at(Key(*real_path));
    return FileStat{.kind = entry.kind,
                    .major = entry.major,
                    .minor = entry.minor,
                    .device = 1,
                    .inode = entry.inode,
                    .mode = 0600};
  }

  std::map<std::string, Entry> entries_;
  uint64_t last_inode_ = 0;
};

}  // namespace tenon::host
