#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kubeapi/access.h"
#include "loop/event_loop.h"

namespace tenon::cli {

/// Reads what a credential program prints into `access`: a token, or a client certificate and its
/// key. Errors: kInvalidArgument for anything else.
/// Source: client-go pkg/apis/clientauthentication/v1/types.go, ExecCredential.
Result<void> ReadExecCredential(std::string_view text, kubeapi::Access& access);

/// Runs the program that `access.exec` names, with `environment` and what the kubeconfig adds to
/// it, waits for its end, and puts what it gives into `access`. It is asked once: what it gives
/// expires, and whoever runs the command asks again. Errors: why there are no credentials, with the
/// kubeconfig's hint on how to install the program where it is missing.
Result<void> RunExecPlugin(loop::EventLoop& loop,
                           const std::map<std::string, std::string>& environment,
                           kubeapi::Access& access);

}  // namespace tenon::cli
