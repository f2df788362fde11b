#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace tenon::base {

enum class LogLevel {
  kDebug,    ///< Steps on the way to something; off by default.
  kInfo,     ///< State changes that an operator wants to see.
  kWarning,  ///< Something is wrong and is being mended or lived with.
  kError,    ///< Something is wrong and needs a person.
};

struct LogField {
  std::string key;
  std::string value;

  LogField(std::string_view k, std::string v) : key(k), value(std::move(v)) {}
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, std::integral auto v) : key(k), value(std::to_string(v)) {}
};
using LogFields = std::vector<LogField>;

/// One line an event: a constant message and fields. Who decides, logs; who returns an error,
/// does not. Passed by reference to whoever needs it, never global.
class Log {
 public:
  Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  virtual ~Log() = default;

  virtual void Write(LogLevel level, std::string_view message, const LogFields& fields) = 0;

  void Debug(std::string_view message, const LogFields& fields = {}) {
    Write(LogLevel::kDebug, message, fields);
  }
  void Info(std::string_view message, const LogFields& fields = {}) {
    Write(LogLevel::kInfo, message, fields);
  }
  void Warning(std::string_view message, const LogFields& fields = {}) {
    Write(LogLevel::kWarning, message, fields);
  }
  void Error(std::string_view message, const LogFields& fields = {}) {
    Write(LogLevel::kError, message, fields);
  }
};

/// Writes each event to a descriptor with one write(2), as key=value text or as JSON.
/// Values are escaped: nothing that hardware or a peer says can forge a line. Thread: any.
class StreamLog final : public Log {
 public:
  enum class Format {
    kText,  ///< 2026-01-01T00:00:00.000Z INFO message key=value key="two words"
    kJson,  ///< {"time":"…","level":"info","msg":"message","key":"value"}
  };

  /// Events below `minimum` are dropped. `fd` is borrowed.
  StreamLog(int fd, Format format, LogLevel minimum, const Clock& clock)
      : fd_(fd), format_(format), minimum_(minimum), clock_(clock) {}

  void Write(LogLevel level, std::string_view message, const LogFields& fields) override;

 private:
  const int fd_;
  const Format format_;
  const LogLevel minimum_;
  const Clock& clock_;
};

/// Drops everything.
class NullLog final : public Log {
 public:
  void Write(LogLevel, std::string_view, const LogFields&) override {}
};

/// Keeps "LEVEL message key=value" lines for tests to look at. Thread: one.
class RecordingLog final : public Log {
 public:
  void Write(LogLevel level, std::string_view message, const LogFields& fields) override;
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

}  // namespace tenon::base
