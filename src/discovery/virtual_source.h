#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "discovery/source.h"

namespace tenon::discovery {

struct VirtualOptions {
  int64_t count = 0;
  /// In front of each id; another one for each virtual rule of a resource, as ids are unique in it.
  std::string prefix = "v";
  std::map<std::string, std::string> env;  ///< Of each container that gets one.
  std::map<std::string, std::string> annotations;
};

/// Offers devices that stand for nothing but a number, "v-0" to "v-(count - 1)": always healthy,
/// without a device node. Fewer later means that the highest go. Part of the contract of
/// docs/ids.md.
class VirtualSource final : public Source {
 public:
  explicit VirtualSource(VirtualOptions options) : options_(std::move(options)) {}

  void Start(ReportFn report) override;
  void Rescan() override;

 private:
  const VirtualOptions options_;
  ReportFn report_;
};

}  // namespace tenon::discovery
