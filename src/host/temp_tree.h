#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/check.h"

namespace tenon::host {

/// A directory tree for tests, removed at the end: the root of a fake machine. Paths are as
/// seen from its root ("/dev/x"); directories on the way are made.
class TempTree final {
 public:
  TempTree() {
    std::string name = std::filesystem::temp_directory_path() / "tenon-tree-XXXXXX";
    TENON_CHECK(::mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;
  ~TempTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  const std::string& root() const { return root_; }
  std::string Real(std::string_view path) const { return root_ + std::string(path); }

  void Directory(std::string_view path) { std::filesystem::create_directories(Real(path)); }
  void File(std::string_view path, std::string_view content) {
    MakeParent(path);
    std::ofstream(Real(path), std::ios::trunc | std::ios::binary) << content;
  }
  void Link(std::string_view path, std::string_view target) {
    MakeParent(path);
    std::filesystem::create_symlink(target, Real(path));
  }
  /// Returns: false where this process may not make device nodes (no CAP_MKNOD, a "nodev" mount
  /// does not matter): the test then skips.
  [[nodiscard]] bool CharacterDevice(std::string_view path, unsigned major, unsigned minor) {
    MakeParent(path);
    return ::mknod(Real(path).c_str(), S_IFCHR | 0600, makedev(major, minor)) == 0;
  }
  [[nodiscard]] bool BlockDevice(std::string_view path, unsigned major, unsigned minor) {
    MakeParent(path);
    return ::mknod(Real(path).c_str(), S_IFBLK | 0600, makedev(major, minor)) == 0;
  }
  void Move(std::string_view from, std::string_view to) {
    std::filesystem::rename(Real(from), Real(to));
  }
  /// A daemon under test may put an entry back between the emptying of a directory and its rmdir:
  /// it is then emptied again.
  void Remove(std::string_view path) {
    std::error_code error;
    do {
      error.clear();
      std::filesystem::remove_all(Real(path), error);
    } while (error == std::errc::directory_not_empty);
    TENON_CHECK(!error);
  }

 private:
  void MakeParent(std::string_view path) {
    std::filesystem::create_directories(std::filesystem::path(Real(path)).parent_path());
  }

  std::string root_;
};

}  // namespace tenon::host
