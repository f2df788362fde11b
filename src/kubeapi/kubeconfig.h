#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "kubeapi/access.h"

namespace tenon::kubeapi {

/// Reads the text of a kubeconfig, `path` absolute, as kubectl does: `context`, or the current one
/// if it is empty, names the cluster and the user. Files that it names are not read here.
/// Errors: kInvalidArgument with the place. A way to log in that is not supported is an error,
/// never left out: auth-provider, user name and password, impersonation, and clusters whose
/// certificate is not to be verified.
/// Source: client-go tools/clientcmd/api/v1/types.go.
Result<Access> ParseKubeconfig(std::string_view text, const std::string& path,
                               const std::string& context = "");

}  // namespace tenon::kubeapi
