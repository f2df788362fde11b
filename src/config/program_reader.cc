#include "config/program_reader.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace tenon::config {
namespace {

constexpr int64_t kMostEvery = 86'400;
constexpr int64_t kMostPeriodicTimeout = 600;

bool IsPlain(std::string_view path) {
  if (!path.starts_with('/') || path.find('\0') != std::string_view::npos) return false;
  const auto parts = base::Split(path.substr(1), '/');
  return std::ranges::all_of(
      parts, [](std::string_view part) { return !part.empty() && part != "." && part != ".."; });
}

bool IsBelow(std::string_view path, std::string_view directory) {
  while (directory.ends_with('/'))
    directory.remove_suffix(1);
  return path.starts_with(directory) && path.size() > directory.size() &&
         path[directory.size()] == '/';
}

}  // namespace

void ProgramReader::CheckPath(Mark mark, const std::string& path) {
  if (!IsPlain(path)) {
    faults_.Add(mark, "program " + Quoted(path) + ": write an absolute path, without \"..\"");
  } else if (std::ranges::none_of(allowed_, [&](const std::string& directory) {
               return IsBelow(path, directory);
             })) {
    faults_.Add(mark,
                "program " + Quoted(path) + ": not allowed; start tenond with --allow-exec " +
                    base::EscapeForLine(path.substr(0, std::max<size_t>(path.rfind('/'), 1))));
  }
}

std::optional<ProgramRule> ProgramReader::ReadArguments(const Value& value, std::string_view key) {
  ProgramRule program;
  for (const Value& item : value.items()) {
    auto text = item.AsString();
    if (!text || text->find('\0') != std::string::npos) {
      faults_.Add(item.mark(), Shown(item) + " is no argument; write text");
      return std::nullopt;
    }
    program.argv.push_back(*std::move(text));
  }
  if (program.argv.empty()) {
    faults_.Add(value.mark(), Quoted(key) +
                                  " names no program; write [/usr/lib/tenon/PROGRAM] "
                                  "and its arguments, no shell reads them");
    return std::nullopt;
  }
  CheckPath(value.items().front().mark(), program.argv.front());
  return program;
}

std::optional<ProgramRule> ProgramReader::ReadMapping(const StrictMapping& mapping,
                                                      std::string_view key, int64_t most_timeout) {
  const Value* run = mapping.Find("run");
  if (run == nullptr) {
    if (!mapping.has_unknown_key())
      faults_.Add(mapping.mark(), "\"run\" is missing; add \"run: [/usr/lib/tenon/PROGRAM]\"");
    return std::nullopt;
  }
  auto program = ReadArguments(*run, key);
  if (auto timeout = mapping.Number("timeout", 1, most_timeout); timeout && program)
    program->timeout_s = *timeout;
  return program;
}

std::optional<ProgramRule> ProgramReader::Read(const StrictMapping& parent, std::string_view key,
                                               int64_t most_timeout) {
  const Value* value = parent.Find(key);
  if (value == nullptr) return std::nullopt;
  std::optional<ProgramRule> program;
  if (value->is_object())
    program = ReadMapping(
        StrictMapping(*value, {"run", "timeout"}, "\"run: [/usr/lib/tenon/PROGRAM]\"", faults_),
        key, most_timeout);
  else
    program = ReadArguments(*value, key);
  if (program) program->timeout_s = std::min(program->timeout_s, most_timeout);
  return program;
}

std::optional<PeriodicProgramRule> ProgramReader::ReadPeriodic(const StrictMapping& parent,
                                                               std::string_view key,
                                                               int64_t every) {
  const Value* value = parent.Find(key);
  if (value == nullptr) return std::nullopt;
  PeriodicProgramRule rule{.every_s = every};
  std::optional<ProgramRule> program;
  if (value->is_object()) {
    StrictMapping mapping(*value, {"run", "timeout", "every"}, "\"run: [/usr/lib/tenon/PROGRAM]\"",
                          faults_);
    program = ReadMapping(mapping, key, kMostPeriodicTimeout);
    rule.every_s = mapping.Number("every", 1, kMostEvery).value_or(every);
  } else {
    program = ReadArguments(*value, key);
  }
  if (!program) return std::nullopt;
  rule.program = *std::move(program);
  return rule;
}

}  // namespace tenon::config
