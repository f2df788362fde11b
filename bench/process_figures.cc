#include "process_figures.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <vector>

#include "base/strings.h"

namespace tenon::bench {
namespace {

/// The number in one field of a status file, 0 if there is none.
int64_t Field(const std::filesystem::path& file, std::string_view field) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(field)) continue;
    size_t digits = line.find_first_of("0123456789");
    return digits == std::string::npos ? 0 : std::stoll(line.substr(digits));
  }
  return 0;
}

std::filesystem::path Proc(pid_t pid) {
  return fmt::format("/proc/{}", pid);
}

std::vector<std::filesystem::path> Threads(pid_t pid) {
  std::vector<std::filesystem::path> threads;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(Proc(pid) / "task", gone))
    threads.push_back(entry.path());
  return threads;
}

}  // namespace

int64_t ResidentKiB(pid_t pid) {
  return Field(Proc(pid) / "status", "VmRSS:");
}

int64_t ThreadCount(pid_t pid) {
  return static_cast<int64_t>(Threads(pid).size());
}

int64_t ContextSwitches(pid_t pid) {
  int64_t sum = 0;
  for (const auto& thread : Threads(pid))
    sum += Field(thread / "status", "voluntary_ctxt_switches:") +
           Field(thread / "status", "nonvoluntary_ctxt_switches:");
  return sum;
}

base::Duration CpuTime(pid_t pid) {
  base::Duration sum{};
  for (const auto& thread : Threads(pid)) {
    std::ifstream in(thread / "schedstat");
    int64_t ns = 0;
    in >> ns;
    sum += base::Duration(ns);
  }
  return sum;
}

int64_t LibraryBytes(pid_t pid) {
  std::set<std::string> files;
  std::ifstream in(Proc(pid) / "maps");
  for (std::string line; std::getline(in, line);)
    if (size_t path = line.find('/'); path != std::string::npos && line.find(".so") > path)
      if (line.find(".so") != std::string::npos) files.insert(line.substr(path));
  int64_t sum = 0;
  std::error_code gone;
  for (const std::string& file : files)
    if (auto size = std::filesystem::file_size(file, gone); !gone)
      sum += static_cast<int64_t>(size);
  return sum;
}

}  // namespace tenon::bench
