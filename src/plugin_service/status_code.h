#pragma once

#include "base/result.h"
#include "rpc/status.h"

namespace tenon::plugin_service {

/// Our codes are a subset of gRPC's: these are the pairs.
rpc::StatusCode ToStatusCode(Code code);
/// Codes that ours does not have become the one that allows the caller the same.
Code FromStatusCode(rpc::StatusCode code);

/// How a call ends that failed with `error`.
rpc::Status ToStatus(const Error& error);
/// A peer's answer as an error, worded as grpc-go words it. Requires: !status.ok().
Error ToError(const rpc::Status& status);

}  // namespace tenon::plugin_service
