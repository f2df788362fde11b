#include "rpc/grpc_text.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/errno_error.h"
#include "base/strings.h"

namespace tenon::rpc {
namespace {

/// Peers accept 8 KiB of headers at the least; the message gets half of it.
constexpr size_t kMaxEncodedMessage = 4096;
constexpr base::Duration kCentury = std::chrono::years(100);
constexpr int64_t kMaxTimeoutValue = 99'999'999;
constexpr std::string_view kHexDigits = "0123456789ABCDEF";

struct Unit {
  char letter;
  base::Duration length;
};
constexpr std::array kUnits = {
    Unit{'n', std::chrono::nanoseconds(1)},  Unit{'u', std::chrono::microseconds(1)},
    Unit{'m', std::chrono::milliseconds(1)}, Unit{'S', std::chrono::seconds(1)},
    Unit{'M', std::chrono::minutes(1)},      Unit{'H', std::chrono::hours(1)},
};

bool PassesUnencoded(char c) {
  return c >= ' ' && c <= '~' && c != '%';
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::string PercentEncode(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    // Whole characters only, so that a cut message is still valid UTF-8.
    size_t length = std::max<size_t>(1, base::Utf8SequenceLength(text));
    if (out.size() + 3 * length > kMaxEncodedMessage) break;
    for (char c : text.substr(0, length)) {
      if (PassesUnencoded(c)) {
        out.push_back(c);
        continue;
      }
      auto byte = static_cast<unsigned char>(c);
      out.append({'%', kHexDigits[byte >> 4U], kHexDigits[byte & 15U]});
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string PercentDecode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    int high = text[i] == '%' && i + 2 < text.size() ? HexValue(text[i + 1]) : -1;
    int low = high >= 0 ? HexValue(text[i + 2]) : -1;
    if (low < 0) {
      out.push_back(text[i]);
      continue;
    }
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

std::optional<base::Duration> ParseTimeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  std::string_view digits = text.substr(0, text.size() - 1);
  const auto* unit = std::ranges::find(kUnits, text.back(), &Unit::letter);
  if (unit == kUnits.end() || !std::ranges::all_of(digits, IsDigit)) return std::nullopt;
  int64_t value = *base::ParseInt64(digits);
  if (value > kCentury / unit->length) return kCentury;
  return value * unit->length;
}

std::string FormatTimeout(base::Duration timeout) {
  timeout = std::clamp(timeout, base::Duration::zero(), kCentury);
  for (const Unit& unit : kUnits) {
    int64_t value = timeout / unit.length + (timeout % unit.length > base::Duration::zero());
    if (value <= kMaxTimeoutValue) return std::to_string(value) + unit.letter;
  }
  return "99999999H";
}

Status ParseStatus(std::string_view code, std::string message) {
  auto value = base::ParseInt64(code);
  bool known = value && *value >= 0 && *value <= static_cast<int>(StatusCode::kUnauthenticated);
  return {known ? static_cast<StatusCode>(*value) : StatusCode::kUnknown, std::move(message)};
}

Status StatusOfHttp(std::string_view http_status) {
  struct Row {
    std::string_view http;
    StatusCode code;
    std::string_view name;
  };
  constexpr std::array kRows = {
      Row{"400", StatusCode::kInternal, "Bad Request"},
      Row{"401", StatusCode::kUnauthenticated, "Unauthorized"},
      Row{"403", StatusCode::kPermissionDenied, "Forbidden"},
      Row{"404", StatusCode::kUnimplemented, "Not Found"},
      Row{"429", StatusCode::kUnavailable, "Too Many Requests"},
      Row{"502", StatusCode::kUnavailable, "Bad Gateway"},
      Row{"503", StatusCode::kUnavailable, "Service Unavailable"},
      Row{"504", StatusCode::kUnavailable, "Gateway Timeout"},
  };
  const auto* row = std::ranges::find(kRows, http_status, &Row::http);
  Status status{StatusCode::kUnknown, "unexpected HTTP status code received from server: " +
                                          base::EscapeForLine(http_status)};
  if (row == kRows.end()) return status;
  status.code = row->code;
  status.message.append(" (").append(row->name).append(")");
  return status;
}

std::string Http2ErrorName(uint32_t http2_error) {
  constexpr std::array<std::string_view, 14> kNames = {"NO_ERROR",
                                                       "PROTOCOL_ERROR",
                                                       "INTERNAL_ERROR",
                                                       "FLOW_CONTROL_ERROR",
                                                       "SETTINGS_TIMEOUT",
                                                       "STREAM_CLOSED",
                                                       "FRAME_SIZE_ERROR",
                                                       "REFUSED_STREAM",
                                                       "CANCEL",
                                                       "COMPRESSION_ERROR",
                                                       "CONNECT_ERROR",
                                                       "ENHANCE_YOUR_CALM",
                                                       "INADEQUATE_SECURITY",
                                                       "HTTP_1_1_REQUIRED"};
  if (http2_error < kNames.size()) return std::string(kNames[http2_error]);
  return "unknown error code " + std::to_string(http2_error);
}

Status StatusOfReset(uint32_t http2_error) {
  StatusCode code = StatusCode::kInternal;
  std::string name = Http2ErrorName(http2_error);
  if (name == "REFUSED_STREAM") code = StatusCode::kUnavailable;
  if (name == "CANCEL") code = StatusCode::kCanceled;
  if (name == "ENHANCE_YOUR_CALM" || name == "FLOW_CONTROL_ERROR")
    code = StatusCode::kResourceExhausted;
  if (name == "INADEQUATE_SECURITY") code = StatusCode::kPermissionDenied;
  return {code, "stream terminated by RST_STREAM with error code: " + name};
}

std::string GoErrnoText(int os_errno) {
  std::string text = base::ErrnoText(os_errno);
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

bool IsGrpcContentType(std::string_view content_type) {
  constexpr std::string_view kGrpc = "application/grpc";
  if (!content_type.starts_with(kGrpc)) return false;
  content_type.remove_prefix(kGrpc.size());
  return content_type.empty() || content_type[0] == '+' || content_type[0] == ';';
}

}  // namespace tenon::rpc
