#include "tenon/look_once.h"

#include <optional>
#include <utility>

namespace tenon::cli {

discovery::Snapshot LookOnce(loop::EventLoop& loop, discovery::Source& source) {
  std::optional<discovery::Snapshot> found;
  source.Start([&found](discovery::Snapshot snapshot) { found = std::move(snapshot); });
  while (!found)
    loop.RunUntil([&found] { return found.has_value(); }, std::chrono::hours(1));
  return *std::move(found);
}

}  // namespace tenon::cli
