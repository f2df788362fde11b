#include "spine/tenond_process.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "admin/http_client.h"
#include "base/check.h"

namespace tenon::spine {
namespace {

constexpr base::Duration kPatience = std::chrono::seconds(20);

}  // namespace

TenondProcess::TenondProcess(loop::EventLoop& loop, std::vector<std::string> arguments,
                             std::string control, std::vector<std::string> through)
    : loop_(loop), control_(std::move(control)) {
  process::ChildOptions options;
  options.argv = std::move(through);
  options.argv.emplace_back(TENOND_PATH);
  for (std::string& argument : arguments)
    options.argv.push_back(std::move(argument));
  options.argv.insert(options.argv.end(), {"--control", control_});
  options.deadline = std::nullopt;
  options.on_output = [this](int, std::string_view bytes) { log_ += bytes; };
  auto child = process::Child::Start(loop_, std::move(options),
                                     [this](process::ChildExit exit) { exit_ = std::move(exit); });
  TENON_CHECK(child.has_value());
  child_ = *std::move(child);
}

std::optional<process::ChildExit> TenondProcess::WaitForExit() {
  loop_.RunUntil([this] { return exit_.has_value(); }, kPatience);
  return exit_;
}

size_t TenondProcess::TimesLogged(std::string_view text) const {
  size_t times = 0;
  for (size_t at = log_.find(text); at != std::string::npos; at = log_.find(text, at + 1))
    ++times;
  return times;
}

admin::HttpResponse TenondProcess::Get(const std::string& path) {
  std::optional<admin::HttpResponse> answer;
  auto fetch = admin::HttpFetch::Start(loop_, control_, {.path = path}, {},
                                       [&answer](Result<admin::HttpResponse> response) {
                                         answer = admin::HttpResponse{.status = 0};
                                         if (response) answer = *std::move(response);
                                       });
  loop_.RunUntil([&answer] { return answer.has_value(); }, kPatience);
  return answer.value_or(admin::HttpResponse{.status = 0});
}

double TenondProcess::Metric(const std::string& name_and_labels) {
  const std::string text = "\n" + Get("/metrics").body;
  const size_t at = text.find("\n" + name_and_labels + " ");
  if (at == std::string::npos) return -1;
  return std::stod(text.substr(at + name_and_labels.size() + 2));
}

size_t TenondProcess::OpenDescriptors() const {
  auto all = std::filesystem::directory_iterator("/proc/" + std::to_string(pid()) + "/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

size_t TenondProcess::StatusNumber(const std::string& field) const {
  std::ifstream status("/proc/" + std::to_string(pid()) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stoul(line.substr(field.size() + 1));
  return 0;
}

}  // namespace tenon::spine
