#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tenon::rpc {

/// A directory for the sockets of one test.
class TestDir final {
 public:
  TestDir() {
    std::string name = ::testing::TempDir() + "rpcXXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TestDir(const TestDir&) = delete;
  TestDir& operator=(const TestDir&) = delete;
  ~TestDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tenon::rpc
