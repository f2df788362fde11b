#pragma once

#include <string>
#include <vector>

#include "value/value.h"

namespace tenon::cli {

/// The table of `tenon pod list`.
std::string RenderPods(const std::vector<Value>& pods);

/// The page of `tenon pod describe`.
std::string DescribePod(const Value& pod);

}  // namespace tenon::cli
