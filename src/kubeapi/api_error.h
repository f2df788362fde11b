#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "kubeapi/http_transport.h"
#include "value/value.h"

namespace tenon::kubeapi {

/// What an API server says when it refuses: the reason phrase of the status, the message of the
/// Status object, and what can be done about it. `origin` is Access::origin, of which credentials
/// the talk is. The code says what the caller may do: kUnavailable and kResourceExhausted, try
/// again later; kFailedPrecondition, read the object again (409, 410); the others, give up.
/// Source: apimachinery pkg/apis/meta/v1/types.go, Status and StatusReason.
Error RefusalError(const HttpAnswer& answer, std::string_view origin);

/// The same for a Status object that came as an event of a watch.
Error StatusObjectError(const Value& status, std::string_view origin);

/// How long the server asks to wait, by header or Status object; nullopt if it does not.
std::optional<base::Duration> RetryAfter(const HttpAnswer& answer);

}  // namespace tenon::kubeapi
