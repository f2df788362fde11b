// Reads anything as an event of a watch. What is accepted can be put into the next request.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "kubeapi/api_error.h"
#include "kubeapi/node_watch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  (void)tenon::kubeapi::RefusalError({.status = 422, .body = std::string(text)}, "fuzz");
  (void)tenon::kubeapi::RetryAfter({.status = 429, .retry_after = std::string(text)});
  const auto event = tenon::kubeapi::ParseWatchEvent(text);
  if (!event) return 0;
  TENON_CHECK(event->object.is_object());
  if (event->kind == tenon::kubeapi::WatchEvent::Kind::kError) {
    (void)tenon::kubeapi::StatusObjectError(event->object, "fuzz");
    return 0;
  }
  TENON_CHECK(!event->resource_version.empty());
  TENON_CHECK(std::ranges::all_of(
      event->resource_version, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; }));
  return 0;
}
