#pragma once

#include <set>
#include <string>
#include <vector>

#include "host/host.h"

namespace tenon::host {

/// Forwards every call, so that a test overrides only the call that it wants to break.
class HostWrapper : public Host {
 public:
  explicit HostWrapper(Host& target) : target_(target) {}

  Result<FileStat> Stat(const std::string& path) override { return target_.Stat(path); }
  Result<FileStat> StatLink(const std::string& path) override { return target_.StatLink(path); }
  Result<std::string> RealPath(const std::string& path) override { return target_.RealPath(path); }
  Result<std::string> TracePath(const std::string& path,
                                std::set<std::string>& directories) override {
    return target_.TracePath(path, directories);
  }
  Result<std::vector<std::string>> List(const std::string& path) override {
    return target_.List(path);
  }
  Result<std::string> Read(const std::string& path, size_t most) override {
    return target_.Read(path, most);
  }
  std::string HostPath(const std::string& path) const override { return target_.HostPath(path); }

 private:
  Host& target_;
};

}  // namespace tenon::host
