#include "manager/numa.h"

#include <optional>
#include <string_view>

#include "base/strings.h"

namespace tenon::manager {
namespace {

constexpr std::string_view kNodeDirectory = "/sys/devices/system/node";
constexpr std::string_view kNodePrefix = "node";
constexpr int kDistanceToItself = 10;  // ACPI, SLIT.
constexpr size_t kMostBytes = 4096;

/// "node12" → 12.
std::optional<int> NumaNodeOf(std::string_view name) {
  if (!name.starts_with(kNodePrefix)) return std::nullopt;
  std::optional<int64_t> number = base::ParseInt64(name.substr(kNodePrefix.size()));
  if (!number || NumaBit(*number) == 0) return std::nullopt;
  return static_cast<int>(*number);
}

std::string_view WithoutNewline(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace

NumaMask NumaMaskOf(const std::vector<int64_t>& numa_nodes) {
  NumaMask mask = 0;
  for (int64_t numa_node : numa_nodes)
    mask |= NumaBit(numa_node);
  return mask;
}

NumaMask NumaMachine::All() const {
  NumaMask mask = 0;
  for (const auto& [numa_node, row] : distances)
    mask |= NumaBit(numa_node);
  return mask;
}

int64_t NumaMachine::SumOfDistances(NumaMask mask) const {
  int64_t sum = 0;
  for (const auto& [from, row] : distances) {
    if ((NumaBit(from) & mask) == 0) continue;
    for (const auto& [to, distance] : row)
      if ((NumaBit(to) & mask) != 0) sum += distance;
  }
  return sum;
}

Result<NumaMachine> ReadNumaMachine(host::Host& host) {
  NumaMachine machine;
  Result<std::vector<std::string>> names = host.List(std::string(kNodeDirectory));
  if (!names && names.error().code() == Code::kNotFound) {
    machine.distances[0][0] = kDistanceToItself;
    return machine;
  }
  if (!names) return std::move(names).error();
  for (const std::string& name : *names)
    if (std::optional<int> numa_node = NumaNodeOf(name)) machine.distances[*numa_node];
  for (auto& [from, row] : machine.distances) {
    const std::string path =
        std::string(kNodeDirectory) + "/node" + std::to_string(from) + "/distance";
    TENON_TRY(std::string text, host.Read(path, kMostBytes));
    // The kernel lists the distances to those NUMA nodes that are online, in their order.
    const std::vector<std::string_view> words = base::Split(WithoutNewline(text), ' ');
    auto word = words.begin();
    for (const auto& [to, ignored] : machine.distances) {
      std::optional<int64_t> distance;
      if (word != words.end()) distance = base::ParseInt64(*word++);
      if (!distance || *distance < 0 || *distance > INT32_MAX)
        return Error(Code::kDataLoss, path + " is \"" + base::EscapeForLine(WithoutNewline(text)) +
                                          "\", the distances to " + std::to_string(machine.size()) +
                                          " NUMA nodes are expected");
      row[to] = static_cast<int>(*distance);
    }
  }
  return machine;
}

}  // namespace tenon::manager
