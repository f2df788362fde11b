#include "base/log.h"

#include <unistd.h>

#include "base/strings.h"

namespace tenon::base {
namespace {

std::string_view LevelName(LogLevel level, StreamLog::Format format) {
  bool json = format == StreamLog::Format::kJson;
  switch (level) {
    case LogLevel::kDebug:
      return json ? "debug" : "DEBUG";
    case LogLevel::kInfo:
      return json ? "info" : "INFO";
    case LogLevel::kWarning:
      return json ? "warning" : "WARN";
    case LogLevel::kError:
      return json ? "error" : "ERROR";
  }
  return "?";
}

void AppendTextFields(std::string& out, const LogFields& fields) {
  for (const LogField& field : fields) {
    out.append(" ").append(EscapeForLine(field.key)).append("=");
    std::string value = EscapeForLine(field.value);
    bool quote = value.empty() || value.find_first_of(" \"=") != std::string::npos;
    if (!quote) {
      out.append(value);
      continue;
    }
    out.push_back('"');
    for (char c : value) {
      if (c == '"') out.push_back('\\');
      out.push_back(c);
    }
    out.push_back('"');
  }
}

std::string JsonLine(LogLevel level, std::string_view message, const LogFields& fields,
                     WallTime now) {
  std::string out = "{\"time\":\"" + FormatRfc3339(now) + "\",\"level\":\"";
  out.append(LevelName(level, StreamLog::Format::kJson)).append("\",\"msg\":");
  AppendJsonString(out, message);
  for (const LogField& field : fields) {
    out.push_back(',');
    AppendJsonString(out, field.key);
    out.push_back(':');
    AppendJsonString(out, field.value);
  }
  return out.append("}\n");
}

std::string TextLine(LogLevel level, std::string_view message, const LogFields& fields,
                     WallTime now) {
  std::string out = FormatRfc3339(now);
  out.append(" ").append(LevelName(level, StreamLog::Format::kText)).append(" ");
  out.append(EscapeForLine(message));
  AppendTextFields(out, fields);
  return out.append("\n");
}

}  // namespace

void StreamLog::Write(LogLevel level, std::string_view message, const LogFields& fields) {
  if (level < minimum_) return;
  std::string line = format_ == Format::kJson ? JsonLine(level, message, fields, clock_.WallNow())
                                              : TextLine(level, message, fields, clock_.WallNow());
  // A log that cannot be written has nowhere to say so.
  [[maybe_unused]] ssize_t written = ::write(fd_, line.data(), line.size());
}

void RecordingLog::Write(LogLevel level, std::string_view message, const LogFields& fields) {
  std::string line(LevelName(level, StreamLog::Format::kText));
  line.append(" ").append(message);
  AppendTextFields(line, fields);
  lines_.push_back(std::move(line));
}

}  // namespace tenon::base
