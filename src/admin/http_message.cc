#include "admin/http_message.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"

namespace tenon::admin {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Unreserved characters (RFC 3986 §2.3), and "/" where it separates segments.
void AppendEncoded(std::string& out, std::string_view text, bool keep_slashes) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (char c : text) {
    bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    bool plain = alphanumeric || std::string_view("-._~").find(c) != std::string_view::npos ||
                 (keep_slashes && c == '/');
    if (plain) {
      out.push_back(c);
      continue;
    }
    auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kHex[byte >> 4U]);
    out.push_back(kHex[byte & 15U]);
  }
}

}  // namespace

HttpResponse ErrorResponse(int status, std::string_view text) {
  std::string body = "{\"error\":";
  base::AppendJsonString(body, text);
  body += "}\n";
  return {.status = status, .body = std::move(body)};
}

std::string_view StatusText(int status) {
  static constexpr std::pair<int, std::string_view> kTexts[] = {
      {100, "Continue"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {400, "Bad Request"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {413, "Content Too Large"},
      {417, "Expectation Failed"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Content"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
  };
  const auto* found = std::find_if(std::begin(kTexts), std::end(kTexts),
                                   [status](const auto& text) { return text.first == status; });
  return found == std::end(kTexts) ? "Status" : found->second;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    int high = HexDigit(text[i + 1]);
    int low = HexDigit(text[i + 2]);
    int byte = high * 16 + low;
    if (high < 0 || low < 0 || byte == 0) return std::nullopt;
    out.push_back(static_cast<char>(byte));
    i += 2;
  }
  return out;
}

bool ParseTarget(std::string_view target, HttpRequest& into) {
  if (target.empty() || target.front() != '/') return false;
  target = target.substr(0, target.find('#'));
  size_t mark = target.find('?');
  auto path = PercentDecode(target.substr(0, mark));
  if (!path) return false;
  into.path = *std::move(path);
  into.query.clear();
  if (mark == std::string_view::npos) return true;
  for (std::string_view pair : base::Split(target.substr(mark + 1), '&')) {
    if (pair.empty()) continue;
    size_t equals = std::min(pair.find('='), pair.size());
    auto key = PercentDecode(pair.substr(0, equals));
    auto value = PercentDecode(pair.substr(std::min(equals + 1, pair.size())));
    if (!key || !value) return false;
    into.query[*std::move(key)] = *std::move(value);
  }
  return true;
}

std::string FormatTarget(const HttpRequest& request) {
  std::string out;
  AppendEncoded(out, request.path, true);
  char separator = '?';
  for (const auto& [key, value] : request.query) {
    out.push_back(std::exchange(separator, '&'));
    AppendEncoded(out, key, false);
    out.push_back('=');
    AppendEncoded(out, value, false);
  }
  return out;
}

}  // namespace tenon::admin
