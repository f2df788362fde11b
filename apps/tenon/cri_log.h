#pragma once

#include <string>
#include <string_view>

namespace tenon::cli {

/// Takes the log of a CRI runtime apart: lines of "TIME STREAM TAG TEXT", where the tag F ends a
/// line of the container's and P does not. What is no such line is passed on as it is.
/// Source: kubernetes design-proposals, kubelet-cri-logging.
class CriLog final {
 public:
  /// The next bytes of the log. Returns: what the container wrote, as far as lines are complete.
  std::string Feed(std::string_view bytes);

 private:
  std::string rest_;  ///< The beginning of a line.
};

}  // namespace tenon::cli
