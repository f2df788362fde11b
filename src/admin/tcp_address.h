#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tenon::admin {

/// Where to listen on TCP.
struct TcpAddress {
  std::string host;  ///< A numeric IPv4 or IPv6 address, without brackets.
  uint16_t port = 0;
  bool operator==(const TcpAddress&) const = default;
};

/// Reads "127.0.0.1:9100", "[::1]:9100", "localhost:9100" or ":9100"; the last two mean
/// 127.0.0.1, so that nobody listens to the world without saying so. Port 0 lets the kernel pick.
Result<TcpAddress> ParseTcpAddress(std::string_view text);

/// "127.0.0.1:9100", "[::1]:9100".
std::string FormatTcpAddress(const TcpAddress& address);

/// A listening non-blocking socket; `address.port` becomes the one that the kernel picked.
Result<base::UniqueFd> ListenOnTcp(TcpAddress& address);

/// Whether a request with this Host header may be answered on TCP: an IP address or "localhost",
/// with or without a port. A web page that had its own name resolve to 127.0.0.1 comes with that
/// name, and is refused.
bool IsTrustedHost(std::string_view host_header);

}  // namespace tenon::admin
