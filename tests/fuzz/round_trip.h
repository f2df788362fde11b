#pragma once

#include <string>
#include <string_view>

#include "base/check.h"
#include "base/result.h"

namespace tenon::fuzz {

/// What is decoded from any bytes must come back unchanged from its own encoding.
template <class T>
void CheckRoundTrip(std::string_view bytes, Result<T> (*decode)(std::string_view),
                    std::string (*encode)(const T&)) {
  const Result<T> value = decode(bytes);
  if (!value) {
    TENON_CHECK(value.error().code() == Code::kInvalidArgument);
    return;
  }
  const std::string encoded = encode(*value);
  const Result<T> again = decode(encoded);
  TENON_CHECK(again && *again == *value);
  TENON_CHECK(encode(*again) == encoded);
}

}  // namespace tenon::fuzz
