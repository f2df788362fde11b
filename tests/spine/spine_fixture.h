#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "host/temp_tree.h"
#include "loop/event_loop.h"
#include "spine/fake_kubelet.h"
#include "spine/tenond_process.h"

namespace tenon::spine {

inline const char kCounter[] = "example.com/counter";  // NOLINT(*-avoid-c-arrays)

/// A machine of one directory: plugins/ is the kubelet's, dev/ has "device nodes" (links to nodes
/// that every machine has, so that no test needs root), run/ the control socket.
struct SpineTest : ::testing::Test {
  SpineTest() {
    tree.Directory("/plugins");
    tree.Directory("/dev");
    tree.Directory("/run");
    WriteConfig("  - name: counter\n    devices: [{virtual: {count: 2}}]\n");
  }

  void WriteConfig(const std::string& resources) {
    tree.File("/config.yaml", "domain: example.com\nresources:\n" + resources);
  }
  /// A rule for all of dev/.
  std::string PathRule(const std::string& name) const {
    return "  - name: " + name + "\n    devices: [{path: " + tree.Real("/dev/*") + "}]\n";
  }
  std::vector<std::string> Arguments() const { return ArgumentsFor(tree.Real("/plugins")); }
  std::vector<std::string> ArgumentsFor(const std::string& plugin_dir) const {
    return {"--config",     tree.Real("/config.yaml"), "--plugin-dir",    plugin_dir,
            "--allow-path", tree.Real("/dev"),         "--pod-resources", tree.Real("/pods.sock"),
            "--cdi-dir",    tree.Real("/cdi")};
  }
  std::unique_ptr<TenondProcess> Tenond(const std::string& control = "/run/tenond.sock") {
    return std::make_unique<TenondProcess>(*loop, Arguments(), tree.Real(control));
  }
  bool RunUntil(const std::function<bool()>& done) {
    return loop->RunUntil(done, std::chrono::seconds(20));
  }
  bool WaitFor(const std::string& resource, size_t devices) {
    return RunUntil([&] { return kubelet.Has(resource, devices); });
  }
  /// Our sockets in the directory.
  std::vector<std::string> Sockets(const std::string& directory = "/plugins") const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(tree.Real(directory)))
      if (entry.path().filename().string().starts_with("tenon-"))
        names.push_back(entry.path().filename());
    return names;
  }

  base::SystemClock clock;
  host::TempTree tree;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  FakeKubelet kubelet{*loop, tree.Real("/plugins")};
};

}  // namespace tenon::spine
