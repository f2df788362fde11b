#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "value/value.h"

namespace tenon::cli {

using Keys = std::initializer_list<std::string_view>;

/// What a daemon's answer holds, taken leniently: what is missing or of another kind is empty, so
/// that a newer or older daemon can be looked at.
std::string TextAt(const Value& value, Keys keys);
std::vector<Value> ItemsAt(const Value& value, Keys keys);

/// "2026-01-01T00:00:00Z" from a time with a fraction of a second, which nobody reads.
std::string ShortTime(std::string time);

/// `value` as indented JSON with a newline.
std::string ToJsonText(const Value& value);

}  // namespace tenon::cli
