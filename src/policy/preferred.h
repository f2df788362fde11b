#pragma once

#include "base/result.h"
#include "device/plugin_api.h"

/// Which devices to take where several would do: functions of their arguments, nothing else.
namespace tenon::policy {

/// The ids that a container should get: all it must include, then the rest of the available ones
/// in natural order ("tty2" before "tty10"), each once, as many as are asked for.
///
/// Errors: kInvalidArgument, naming what does not fit: fewer available than asked for, an id that
/// must be included but is not available, more ids to include than asked for, a negative size.
/// Source: deviceplugin/v1beta1 api.proto, ContainerPreferredAllocationRequest.
Result<std::vector<std::string>> PreferInOrder(const api::PreferredRequest& request);

}  // namespace tenon::policy
