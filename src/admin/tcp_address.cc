#include "admin/tcp_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <optional>

#include "base/errno_error.h"
#include "base/strings.h"

namespace tenon::admin {
namespace {

constexpr int kBacklog = 128;

union SocketAddress {
  sockaddr generic;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

struct HostAndPort {
  std::string host;
  std::optional<std::string> port;
};

/// Splits "host:port", "[v6]:port", "host" or "[v6]".
std::optional<HostAndPort> SplitHostPort(std::string_view text) {
  HostAndPort out;
  size_t end = text.find(':');
  if (!text.empty() && text.front() == '[') {
    size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return std::nullopt;
    out.host = text.substr(1, bracket - 1);
    end = bracket + 1;
    if (out.host.find(':') == std::string::npos) return std::nullopt;
  } else {
    out.host = text.substr(0, end);
  }
  if (end >= text.size()) return out;
  if (text[end] != ':') return std::nullopt;
  out.port = text.substr(end + 1);
  return out;
}

std::optional<SocketAddress> ToSocketAddress(const TcpAddress& address) {
  SocketAddress out{};
  if (::inet_pton(AF_INET, address.host.c_str(), &out.v4.sin_addr) == 1) {
    out.v4.sin_family = AF_INET;
    out.v4.sin_port = htons(address.port);
    return out;
  }
  out = {};
  if (::inet_pton(AF_INET6, address.host.c_str(), &out.v6.sin6_addr) == 1) {
    out.v6.sin6_family = AF_INET6;
    out.v6.sin6_port = htons(address.port);
    return out;
  }
  return std::nullopt;
}

std::optional<uint16_t> ParsePort(std::string_view text) {
  auto number = base::ParseInt64(text);
  if (!number || *number < 0 || *number > 65535) return std::nullopt;
  return static_cast<uint16_t>(*number);
}

}  // namespace

Result<TcpAddress> ParseTcpAddress(std::string_view text) {
  auto refuse = [text](std::string_view why) {
    return Error(Code::kInvalidArgument, "listen address '" + base::EscapeForLine(text) +
                                             "': " + std::string(why) +
                                             "; write it as 127.0.0.1:9100, [::1]:9100 or :9100");
  };
  auto parts = SplitHostPort(text);
  if (!parts || !parts->port) return refuse("no port");
  auto port = ParsePort(*parts->port);
  if (!port) return refuse("the port is no number from 0 to 65535");
  TcpAddress address{.host = parts->host, .port = *port};
  if (address.host.empty() || address.host == "localhost") address.host = "127.0.0.1";
  if (!ToSocketAddress(address)) return refuse("the host is no IP address");
  return address;
}

std::string FormatTcpAddress(const TcpAddress& address) {
  bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

Result<base::UniqueFd> ListenOnTcp(TcpAddress& address) {
  auto target = ToSocketAddress(address);
  std::string name = FormatTcpAddress(address);
  if (!target) return Error(Code::kInvalidArgument, name + " is no IP address and port");
  base::UniqueFd fd(
      ::socket(target->generic.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return base::ErrnoError("socket for", name);
  // A restart must not wait for connections of the last run in TIME_WAIT.
  int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  socklen_t size = target->generic.sa_family == AF_INET ? sizeof target->v4 : sizeof target->v6;
  if (::bind(fd.get(), &target->generic, size) != 0) return base::ErrnoError("bind", name);
  if (::listen(fd.get(), kBacklog) != 0) return base::ErrnoError("listen on", name);
  if (::getsockname(fd.get(), &target->generic, &size) != 0)
    return base::ErrnoError("getsockname", name);
  address.port =
      ntohs(target->generic.sa_family == AF_INET ? target->v4.sin_port : target->v6.sin6_port);
  return fd;
}

bool IsTrustedHost(std::string_view host_header) {
  auto parts = SplitHostPort(host_header);
  if (!parts || (parts->port && !ParsePort(*parts->port))) return false;
  return parts->host == "localhost" || ToSocketAddress({.host = parts->host}).has_value();
}

}  // namespace tenon::admin
