#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::admin {

/// One request, as the server got it or as the client is to send it.
struct HttpRequest {
  std::string method = "GET";
  std::string path;                            ///< Percent-decoded, without the query.
  std::map<std::string, std::string> query;    ///< Decoded; of a repeated key the last one.
  std::map<std::string, std::string> params;   ///< What {name} segments of the route matched.
  std::map<std::string, std::string> headers;  ///< Names in lower case, repeats joined by ", ".
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  /// Beside those that the server writes itself: Allow, say.
  std::map<std::string, std::string> headers = {};
};

/// {"error":"…"}, the form of every refusal.
HttpResponse ErrorResponse(int status, std::string_view text);

/// "Not Found".
std::string_view StatusText(int status);

/// `text` with every %XX turned into its byte. Returns: nothing when an escape is broken or
/// stands for NUL.
std::optional<std::string> PercentDecode(std::string_view text);

/// Splits "/a%20b?x=1" into path, and query, decoded; "+" in a query stays a plus.
/// Returns: false when it is not such a target (absolute URLs are not).
bool ParseTarget(std::string_view target, HttpRequest& into);

/// The inverse: what to write on the request line for path and query.
std::string FormatTarget(const HttpRequest& request);

}  // namespace tenon::admin
