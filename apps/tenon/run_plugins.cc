#include "tenon/run_plugins.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/strings.h"
#include "process/environment.h"
#include "tenon/json_view.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

constexpr base::Duration kPatience = std::chrono::seconds(30);
constexpr base::Duration kPause = std::chrono::milliseconds(100);
constexpr base::Duration kGrace = std::chrono::seconds(5);

}  // namespace

RunPlugins::~RunPlugins() {
  for (const auto& plugin : plugins_)
    if (plugin->end.empty()) plugin->child->Kill(SIGTERM);
  client_.loop().RunUntil([this] { return AllEnded(); }, kGrace);
}

Result<void> RunPlugins::Start(const std::string& command, const std::string& kubelet_dir) {
  std::vector<std::string> argv = {"/proc/self/exe", "plugin", "--kubelet-dir", kubelet_dir, "--"};
  const size_t own = argv.size();
  for (const std::string_view word : base::Split(command, ' '))
    if (!word.empty()) argv.emplace_back(word);
  if (argv.size() == own) return Error(Code::kInvalidArgument, "--plugin: no command");
  auto plugin = std::make_unique<Plugin>();
  plugin->command = argv[own];
  process::ChildOptions options{.argv = std::move(argv), .env = process::OurEnvironment()};
  options.deadline = std::nullopt;
  options.on_output = [](int, std::string_view bytes) {
    // Its log is for people who look for what is wrong; if nobody reads it, it is lost.
    [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, bytes.data(), bytes.size());
  };
  TENON_TRY(plugin->child,
            process::Child::Start(client_.loop(), std::move(options),
                                  [each = plugin.get()](const process::ChildExit& exit) {
                                    each->end = exit.Describe();
                                  }));
  plugins_.push_back(std::move(plugin));
  return {};
}

Result<void> RunPlugins::AwaitDevices(const std::map<std::string, int64_t>& wanted) {
  const base::SystemClock clock;
  const base::MonotonicTime latest = clock.Now() + kPatience;
  for (;;) {
    TENON_TRY(const std::string missing, FirstMissing(wanted));
    if (missing.empty()) return {};
    for (const auto& plugin : plugins_) {
      if (!plugin->end.empty())
        return Error(Code::kFailedPrecondition, plugin->command + " ended: " + plugin->end);
    }
    if (clock.Now() >= latest) return Error(Code::kDeadlineExceeded, missing);
    if (!client_.Sleep(kPause)) return Error(Code::kUnavailable, "interrupted");
  }
}

Result<std::string> RunPlugins::FirstMissing(const std::map<std::string, int64_t>& wanted) {
  TENON_TRY(const Value node, client_.CallJson({.path = "/api/v1/node"}));
  for (const auto& [resource, count] : wanted) {
    const int64_t there =
        base::ParseInt64(TextAt(node, {"status", "allocatable", resource})).value_or(0);
    if (there >= count) continue;
    return "the kubelet has " + std::to_string(there) + " healthy devices of " + resource +
           " and not the " + std::to_string(count) + " that are wanted";
  }
  return std::string();
}

bool RunPlugins::AllEnded() const {
  return std::all_of(plugins_.begin(), plugins_.end(),
                     [](const auto& plugin) { return !plugin->end.empty(); });
}

}  // namespace tenon::cli
