#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/http_client.h"
#include "base/strings.h"
#include "host/temp_tree.h"
#include "loop/event_loop.h"
#include "process/child.h"
#include "runtime/runc.h"
#include "value/value.h"

namespace tenon {

inline constexpr std::chrono::seconds kPatience(20);

/// A program as a child of the test; killed with the object.
class Program final {
 public:
  Program(loop::EventLoop& loop, std::vector<std::string> argv) : loop_(loop) {
    process::ChildOptions options{.argv = std::move(argv)};
    options.deadline = std::nullopt;
    options.on_output = [this](int, std::string_view bytes) { output_ += bytes; };
    child_ = *process::Child::Start(loop_, std::move(options),
                                    [this](process::ChildExit exit) { exit_ = std::move(exit); });
  }
  void Signal(int signal) { child_->Kill(signal); }
  const process::ChildExit& WaitForExit() {
    loop_.RunUntil([this] { return exit_.has_value(); }, kPatience);
    if (!exit_) exit_ = process::ChildExit{};
    return *exit_;
  }
  bool running() const { return !exit_; }
  const std::string& output() const { return output_; }

 private:
  loop::EventLoop& loop_;
  std::string output_;
  std::optional<process::ChildExit> exit_;
  std::unique_ptr<process::Child> child_;
};

/// The real `tenon kubelet`, the real tenond beside it, and whatever runtime the test says.
struct KubeletProcessTest : ::testing::Test {
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  host::TempTree tree;
  std::unique_ptr<Program> kubelet;
  std::unique_ptr<Program> tenond;
  std::string runtime = "none";
  std::string image = "busybox";
  std::vector<std::string> wrapper;  ///< A command that runs the kubelet.

  std::string Directory() const { return tree.Real("/kubelet"); }

  /// busybox for an image, and runc. Returns: why the test has to be skipped; empty: it has not.
  std::string UseRunc() {
    if (::geteuid() != 0) return "needs root";
    if (::access("/bin/busybox", X_OK) != 0) return "needs the package busybox-static";
    if (auto found = runtime::CheckRunc(*loop, "/usr/sbin/runc"); !found)
      return found.error().message();
    for (const char* directory : {"proc", "dev", "sys", "tmp", "run", "bin"})
      tree.Directory("/images/busybox/" + std::string(directory));
    std::filesystem::copy("/bin/busybox", tree.Real("/images/busybox/bin/busybox"));
    tree.Link("/images/busybox/bin/sh", "busybox");
    runtime = "runc";
    return "";
  }
  void LaunchKubelet() {
    std::vector<std::string> argv = wrapper;
    for (const std::string& argument :
         {std::string(TENON_PATH), std::string("kubelet"), std::string("--kubelet-dir"),
          Directory(), std::string("--image-dir"), tree.Real("/images"), std::string("--runtime"),
          runtime, std::string("--node-name"), std::string("lab"), std::string("--cdi-dir"),
          tree.Real("/cdi")})
      argv.push_back(argument);
    kubelet = std::make_unique<Program>(*loop, std::move(argv));
  }
  void StartKubelet() {
    LaunchKubelet();
    ASSERT_TRUE(Await([this] { return Get("/healthz").status == 200 || !kubelet->running(); }))
        << kubelet->output();
    ASSERT_TRUE(kubelet->running()) << kubelet->output();
  }
  /// Starts the kubelet first if it is not there. Returns: the uids that the pods had.
  std::vector<std::string> DeleteAllPods() {
    if (!kubelet->running()) StartKubelet();
    const Value list = GetJson("/api/v1/pods");
    std::vector<std::string> uids;
    for (const Value& pod : list.Find("items")->items()) {
      uids.push_back(TextAt(pod, {"metadata", "uid"}));
      EXPECT_EQ(Delete(TextAt(pod, {"metadata", "name"})), 200);
    }
    return uids;
  }
  void KillKubelet() {
    kubelet->Signal(SIGKILL);
    EXPECT_EQ(kubelet->WaitForExit().signal, SIGKILL);
  }
  void StartTenond(const std::string& resources) {
    tree.File("/config.yaml", "domain: example.com\nresources:\n" + resources);
    tenond = std::make_unique<Program>(
        *loop, std::vector<std::string>{TENOND_PATH, "--config", tree.Real("/config.yaml"),
                                        "--kubelet-dir", Directory(), "--control",
                                        tree.Real("/tenond.sock"), "--cdi-dir", tree.Real("/cdi")});
  }

  admin::HttpResponse Call(const admin::HttpRequest& request) {
    std::optional<admin::HttpResponse> answer;
    const auto fetch = admin::HttpFetch::Start(
        *loop, base::JoinPath(Directory(), "tenon-kubelet.sock"), request, {.deadline = kPatience},
        [&answer](Result<admin::HttpResponse> response) {
          answer = response ? *std::move(response) : admin::HttpResponse{.status = 0};
        });
    loop->RunUntil([&answer] { return answer.has_value(); }, kPatience);
    return answer.value_or(admin::HttpResponse{.status = 0});
  }
  admin::HttpResponse Get(const std::string& path) { return Call({.path = path}); }
  Value GetJson(const std::string& path) {
    auto value = ParseJson(Get(path).body, path);
    return value ? *std::move(value) : Value();
  }
  std::string TextAt(const Value& value, std::initializer_list<std::string_view> keys) {
    const Value* found = value.At(keys);
    return found ? found->text() : "";
  }
  /// For what the loop is not told of.
  bool Await(const std::function<bool()>& done) {
    const base::MonotonicTime latest = clock.Now() + kPatience;
    while (!done() && clock.Now() < latest)
      loop->RunUntil([] { return false; }, std::chrono::milliseconds(5));
    return done();
  }
  bool AwaitAllocatable(const std::string& resource, const std::string& count) {
    return Await([&] {
      return TextAt(GetJson("/api/v1/node"), {"status", "allocatable", resource}) == count;
    });
  }

  /// Submits a pod with one container; returns its phase and, if it was refused, why.
  std::string Submit(const std::string& name, const std::string& script,
                     const std::string& limits) {
    const std::string manifest =
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
        R"("},"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":")" + image +
        R"(",)" + R"("command":["/bin/sh","-c",)" + ToJson(Value::String(script)) +
        R"(],"resources":{"limits":{)" + limits + "}}}]}}";
    return Post(manifest);
  }
  std::string Post(const std::string& manifest) {
    const admin::HttpResponse response =
        Call({.method = "POST", .path = "/api/v1/pods", .body = manifest});
    auto body = ParseJson(response.body, "answer");
    if (response.status != 201 || !body) return response.body;
    const Value& pod = body->Find("items")->items().front();
    return TextAt(pod, {"status", "phase"}) + " " + TextAt(pod, {"status", "message"});
  }
  /// The same with a sidecar "side" that has the limits; "main" has none.
  std::string SubmitWithSidecar(const std::string& name, const std::string& sidecar,
                                const std::string& script, const std::string& limits) {
    const auto container = [this](const std::string& container_name, const std::string& command,
                                  const std::string& more) {
      return R"([{"name":")" + container_name + R"(","image":")" + image +
             R"(","command":["/bin/sh","-c",)" + ToJson(Value::String(command)) + "]" + more + "}]";
    };
    return Post(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                R"("},"spec":{"restartPolicy":"Never","initContainers":)" +
                container("side", sidecar,
                          R"(,"restartPolicy":"Always","resources":{"limits":{)" + limits + "}}") +
                R"(,"containers":)" + container("main", script, "") + "}}");
  }
  Value Pod(const std::string& name) { return GetJson("/api/v1/pods/default/" + name); }
  std::string Phase(const std::string& name) { return TextAt(Pod(name), {"status", "phase"}); }
  bool AwaitPhase(const std::string& name, const std::string& phase) {
    return Await([&] { return Phase(name) == phase; });
  }
  /// Of its first container, or of its first init container.
  Value State(const std::string& name, std::string_view statuses_key = "containerStatuses") {
    const Value pod = Pod(name);
    const Value* statuses = pod.At({"status", statuses_key});
    return statuses && !statuses->items().empty() ? *statuses->items()[0].Find("state") : Value();
  }
  Value SidecarState(const std::string& name) { return State(name, "initContainerStatuses"); }
  std::string Output(const std::string& name, const std::string& container = "main") {
    return Call({.path = "/api/v1/pods/default/" + name + "/log",
                 .query = {{"container", container}}})
        .body;
  }
  int Delete(const std::string& name) {
    return Call({.method = "DELETE",
                 .path = "/api/v1/pods/default/" + name,
                 .query = {{"grace", "0"}}})
        .status;
  }
};

}  // namespace tenon
