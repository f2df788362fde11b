#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "rpc/status.h"

namespace tenon::rpc {

/// The text forms that gRPC gives to things in HTTP/2 headers, and what it makes of the failures
/// of the layers below. Source: grpc/doc/PROTOCOL-HTTP2.md, http-grpc-status-mapping.md;
/// texts and codes as grpc-go words them.

/// A message as the value of grpc-message: all but printable ASCII, and "%", as %XX. A very long
/// one is cut so that it fits the header limits of any peer.
std::string PercentEncode(std::string_view text);
/// The reverse; what is not %XX stays as it is.
std::string PercentDecode(std::string_view text);

/// The value of grpc-timeout: at most eight digits and one of the units H M S m u n.
/// Returns: nullopt if it is malformed; times beyond a century are cut to one.
std::optional<base::Duration> ParseTimeout(std::string_view text);
/// The finest unit that holds it, rounded up, so that the peer never gives up before we do.
std::string FormatTimeout(base::Duration timeout);

/// The status in the value of grpc-status and a decoded message; kUnknown if it is no code.
Status ParseStatus(std::string_view code, std::string message);

/// The status of a response that carries no grpc-status but an HTTP status other than 200.
Status StatusOfHttp(std::string_view http_status);

/// The status of a call whose stream the peer reset.
Status StatusOfReset(uint32_t http2_error);

/// "ENHANCE_YOUR_CALM". Source: RFC 9113 §7.
std::string Http2ErrorName(uint32_t http2_error);

/// "connection refused": an errno as Go words it.
std::string GoErrnoText(int os_errno);

/// Whether a content-type is one of gRPC's: application/grpc, alone or before "+" or ";".
bool IsGrpcContentType(std::string_view content_type);

}  // namespace tenon::rpc
