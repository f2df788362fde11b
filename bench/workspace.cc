#include "workspace.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "base/errno_error.h"

namespace tenon::bench {
namespace {

namespace fs = std::filesystem;

constexpr size_t kResources = 4;

constexpr std::string_view kSmallConfig = R"(domain: bench.example.com
resources:
  - {name: serial, devices: [{path: /dev/ttyUSB*}]}
  - {name: fuse, devices: [{path: /dev/fuse}]}
  - {name: hot, devices: [{path: /dev/hot/*}]}
  - {name: dongle, devices: [{virtual: {count: 2}}]}
)";
constexpr std::string_view kLargeConfig = R"(domain: bench.example.com
resources:
  - {name: hot, devices: [{path: /dev/hot/*}]}
)";

}  // namespace

void MakeDeviceNode(const std::string& path, int minor) {
  constexpr unsigned kMajor = 240;  // For local and experimental use.
  if (::mknod(path.c_str(), S_IFCHR | 0600, makedev(kMajor, static_cast<unsigned>(minor))) == 0)
    return;
  fmt::print(stderr, "plugin_bench: mknod {}: {}\n", path, base::ErrnoText(errno));
  std::exit(1);
}

Workspace::Workspace() {
  // Short: the sockets' paths have 107 bytes at most.
  std::string name = "/tmp/tbXXXXXX";
  TENON_CHECK(::mkdtemp(name.data()) != nullptr);
  root_ = name;
}

Workspace::~Workspace() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string Workspace::Place(const std::string& name, int devices) {
  std::string place = fmt::format("{}/{}{}", root_, name, devices);
  fs::create_directories(place + "/k/device-plugins");
  fs::create_directories(place + "/host/dev/hot");
  fs::create_directories(place + "/host/sys");
  for (int i = 0; i < devices; ++i)
    MakeDeviceNode(fmt::format("{}/host/dev/hot/{}", place, i), i);
  if (devices > 0) return place;
  for (int i = 0; i < 4; ++i)
    MakeDeviceNode(fmt::format("{}/host/dev/ttyUSB{}", place, i), i);
  MakeDeviceNode(place + "/host/dev/fuse", 4);
  MakeDeviceNode(place + "/host/dev/hot/0", 5);
  return place;
}

SubjectPlan Workspace::Tenond(const std::string& binary, int devices) {
  std::string place = Place("t", devices);
  fs::copy_file(binary, place + "/tenond");
  std::ofstream(place + "/config.yaml") << (devices > 0 ? kLargeConfig : kSmallConfig);
  return {.name = "tenond",
          .argv = {"/usr/sbin/chroot", place, "/tenond", "--config", "/config.yaml",
                   "--kubelet-dir", "/k", "--root", "/host", "--control", "/c.sock"},
          .binary = binary,
          .plugin_dir = place + "/k/device-plugins",
          .device_dir = place + "/host/dev/hot",
          .control = place + "/c.sock",
          .resources = devices > 0 ? 1 : kResources};
}

SubjectPlan Workspace::Grpcpp(const std::string& binary, int devices) {
  std::string place = Place("g", devices);
  size_t resources = devices > 0 ? 1 : kResources;
  return {.name = "grpc++",
          .argv = {binary, place + "/k/device-plugins", place + "/host/dev/hot",
                   std::to_string(resources)},
          .binary = binary,
          .plugin_dir = place + "/k/device-plugins",
          .device_dir = place + "/host/dev/hot",
          .resources = resources};
}

SubjectPlan Workspace::Peer(const std::string& command, size_t resources) {
  std::string place = Place("p", 0);
  SubjectPlan plan{
      .name = "PEER_CMD", .plugin_dir = place + "/k/device-plugins", .resources = resources};
  std::string text = command;
  auto replace = [&](std::string_view word, const std::string& with) {
    bool found = false;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
      text.replace(at, word.size(), with);
      found = true;
    }
    return found;
  };
  replace("{dir}", plan.plugin_dir);
  if (replace("{devices}", place + "/host/dev/hot")) plan.device_dir = place + "/host/dev/hot";
  std::string word;
  for (char c : text + ' ') {
    if (c != ' ') {
      word.push_back(c);
    } else if (!word.empty()) {
      plan.argv.push_back(std::exchange(word, {}));
    }
  }
  TENON_CHECK(!plan.argv.empty());
  plan.binary = plan.argv[0];
  return plan;
}

}  // namespace tenon::bench
