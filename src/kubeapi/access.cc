#include "kubeapi/access.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "base/strings.h"

namespace tenon::kubeapi {
namespace {

constexpr int kHttpsPort = 443;
constexpr int kHttpPort = 80;

Error Invalid(std::string_view url, std::string_view why) {
  return {Code::kInvalidArgument,
          "server \"" + base::EscapeForLine(url.substr(0, 200)) + "\": " + std::string(why)};
}

bool IsHostName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

bool IsIpv6(const std::string& text) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool IsLoopback(const std::string& host) {
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (::inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6) != 0;
  return host == "localhost";
}

/// "HOST", "HOST:PORT", "[ADDRESS]" or "[ADDRESS]:PORT" into `url`. Returns: whether it is one.
bool ReadAuthority(std::string_view text, ServerUrl& url) {
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    url.host = text.substr(1, end - 1);
    if (!IsIpv6(url.host)) return false;
    text.remove_prefix(end + 1);
  } else {
    const size_t end = std::min(text.find(':'), text.size());
    url.host = text.substr(0, end);
    if (!IsHostName(url.host)) return false;
    text.remove_prefix(end);
  }
  url.port = url.tls ? kHttpsPort : kHttpPort;
  if (text.empty()) return true;
  const auto port = base::ParseInt64(text.substr(1));
  if (text[0] != ':' || !port || *port < 1 || *port > 65535) return false;
  url.port = static_cast<int>(*port);
  return true;
}

/// A path is sent as it stands, so it may hold nothing that needs escaping.
bool IsPlainPath(std::string_view path) {
  return std::ranges::all_of(path, [](char c) {
    return c > ' ' && c < '\x7f' &&
           std::string_view("?#\"<>\\^`{|}%").find(c) == std::string_view::npos;
  });
}

}  // namespace

Result<ServerUrl> ParseServerUrl(std::string_view text) {
  ServerUrl url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.tls = true;
    rest.remove_prefix(std::string_view("https://").size());
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(std::string_view("http://").size());
  } else {
    return Invalid(text, "write https://HOST:PORT, or http://127.0.0.1:8001 for a kubectl proxy");
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  url.path = rest.substr(slash);
  while (url.path.ends_with('/'))
    url.path.pop_back();
  if (!ReadAuthority(rest.substr(0, slash), url) || !IsPlainPath(url.path))
    return Invalid(text, "write it as https://HOST:PORT, with nothing but a path after it");
  if (!url.tls && !IsLoopback(url.host)) {
    return Invalid(text,
                   "plain HTTP is for this machine only: anybody on the way could read and change "
                   "what is said; write https://, or run 'kubectl proxy' and name "
                   "http://127.0.0.1:8001");
  }
  return url;
}

Result<Access> InClusterAccess(const std::string& host, const std::string& port,
                               std::string_view directory) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  Access access;
  access.server = "https://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + port;
  access.origin = "the service account in " + std::string(directory);
  if (auto url = ParseServerUrl(access.server); !url)
    return std::move(url).error().Wrap("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT");
  access.authority.path = base::JoinPath(directory, "ca.crt");
  access.token.path = base::JoinPath(directory, "token");
  return access;
}

}  // namespace tenon::kubeapi
