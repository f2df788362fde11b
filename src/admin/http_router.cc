#include "admin/http_router.h"

#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace tenon::admin {
namespace {

/// What the segments in braces are in this path; nothing when it does not match.
std::optional<std::map<std::string, std::string>> MatchPath(
    const std::vector<std::string>& pattern, const std::vector<std::string_view>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  std::map<std::string, std::string> params;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string& segment = pattern[i];
    bool named = !segment.empty() && segment.front() == '{';
    if (named && !path[i].empty()) {
      params[segment.substr(1, segment.size() - 2)] = path[i];
    } else if (named || segment != path[i]) {
      return std::nullopt;
    }
  }
  return params;
}

}  // namespace

void HttpRouter::Add(std::string method, std::string_view pattern, HttpServer::RouteFn route) {
  TENON_CHECK(!pattern.empty() && pattern.front() == '/');
  std::vector<std::string> segments;
  for (std::string_view segment : base::Split(pattern, '/'))
    segments.emplace_back(segment);
  entries_.push_back({std::move(method), std::move(segments), std::move(route)});
}

HttpRouter::Match HttpRouter::Find(const HttpRequest& request) const {
  const std::string& wanted = request.method == "HEAD" ? "GET" : request.method;
  std::vector<std::string_view> path = base::Split(request.path, '/');
  std::set<std::string> allowed;
  for (const Entry& entry : entries_) {
    auto params = MatchPath(entry.segments, path);
    if (!params) continue;
    if (entry.method == wanted) return {.route = &entry.route, .params = *std::move(params)};
    allowed.insert(entry.method);
    if (entry.method == "GET") allowed.insert("HEAD");
  }
  return {.allowed = base::Join({allowed.begin(), allowed.end()}, ", ")};
}

}  // namespace tenon::admin
