#include "subject.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "loop/unix_socket.h"
#include "workspace.h"

namespace tenon::bench {
namespace {

constexpr base::Duration kPatience = std::chrono::seconds(60);
constexpr int kFirstAddedMinor = 500000;

}  // namespace

base::Duration Subject::TimeUntil(base::MonotonicTime start, const std::function<bool()>& done) {
  if (loop_.RunUntil(done, kPatience)) return clock_.Now() - start;
  fmt::print(stderr, "plugin_bench: {}: nothing happened for a minute\n", plan_.name);
  std::exit(1);
}

void Subject::Stop() {
  if (!child_) return;
  stopping_ = true;
  child_->Kill(SIGKILL);
  TimeUntil(clock_.Now(), [&] { return !stopping_; });
  child_.reset();
}

void Subject::OnEnded(const process::ChildExit& exit) {
  if (std::exchange(stopping_, false)) return;
  fmt::print(stderr, "plugin_bench: {} ended: {}\n{}\n", plan_.name, exit.Describe(), exit.errors);
  std::exit(1);
}

base::Duration Subject::Restart() {
  Stop();
  kubelet_.StopAndWipe();
  kubelet_.Start();
  base::MonotonicTime start = clock_.Now();
  auto child = process::Child::Start(loop_, {.argv = plan_.argv, .deadline = std::nullopt},
                                     [this](const process::ChildExit& exit) { OnEnded(exit); });
  if (!child) {
    fmt::print(stderr, "plugin_bench: {}\n", child.error().message());
    std::exit(1);
  }
  child_ = *std::move(child);
  return TimeUntil(start, [&] { return kubelet_.registrations() > 0; });
}

void Subject::AwaitLists() {
  TimeUntil(clock_.Now(), [&] { return kubelet_.Listed(plan_.resources); });
}

base::Duration Subject::RestartKubelet() {
  kubelet_.StopAndWipe();
  // Long enough for the plugin to have seen its sockets go.
  loop_.RunUntil([] { return false; }, std::chrono::milliseconds(200));
  base::MonotonicTime start = clock_.Now();
  kubelet_.Start();
  return TimeUntil(start, [&] { return kubelet_.Listed(plan_.resources); });
}

base::Duration Subject::AddDevice() {
  int before = kubelet_.lists();
  base::MonotonicTime start = clock_.Now();
  MakeDeviceNode(fmt::format("{}/new{}", plan_.device_dir, devices_added_),
                 kFirstAddedMinor + devices_added_);
  ++devices_added_;
  return TimeUntil(start, [&] { return kubelet_.lists() > before; });
}

base::Duration Subject::Allocate(int count, int width, std::vector<base::Duration>* samples) {
  int started = 0;
  int finished = 0;
  std::vector<std::unique_ptr<rpc::ClientCall>> calls(static_cast<size_t>(width));
  base::MonotonicTime start = clock_.Now();
  base::MonotonicTime last = start;
  std::function<void(size_t)> next = [&](size_t slot) {
    if (started == count) return;
    ++started;
    calls[slot] = kubelet_.Allocate([&, slot] {
      ++finished;
      if (samples != nullptr) {
        base::MonotonicTime now = clock_.Now();
        samples->push_back(now - std::exchange(last, now));
      }
      next(slot);
    });
  };
  for (size_t slot = 0; slot < calls.size(); ++slot)
    next(slot);
  return TimeUntil(start, [&] { return finished == count; });
}

base::Duration Subject::TakeLoopLag() const {
  if (plan_.control.empty()) return {};
  auto socket = loop::ConnectUnix(plan_.control);
  if (!socket) return {};
  constexpr std::string_view kRequest =
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  TENON_CHECK(::send(socket->get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL) > 0);
  std::string text;
  auto watch = loop_.WatchFd(socket->get(), loop::kReadable, [](unsigned) {});
  bool ended = false;
  loop_.RunUntil(
      [&] {
        std::array<char, 4096> chunk;
        ssize_t got = 0;
        while ((got = ::recv(socket->get(), chunk.data(), chunk.size(), MSG_DONTWAIT)) > 0)
          text.append(chunk.data(), static_cast<size_t>(got));
        ended |= got == 0;
        return ended;
      },
      kPatience);
  constexpr std::string_view kMetric = "\ntenon_loop_lag_seconds ";
  size_t at = text.find(kMetric);
  if (at == std::string::npos) return {};
  double seconds = std::strtod(text.c_str() + at + kMetric.size(), nullptr);
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace tenon::bench
