#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tenon::kubeapi {

/// A token or PEM text: as it stands here, or in a file, which is read whenever the secret is
/// needed, because whoever issues it renews it there. With both the file counts while it can be
/// read.
struct Secret {
  std::string text;
  std::string path;  ///< Absolute.
  bool empty() const { return text.empty() && path.empty(); }
  bool operator==(const Secret&) const = default;
};

/// A program that a kubeconfig names to get credentials from. docs/security.md says when it runs.
struct ExecPlugin {
  std::string api_version;
  std::vector<std::string> argv;  ///< argv[0] as the kubeconfig has it: a path, or a name.
  std::vector<std::pair<std::string, std::string>> env;
  std::string directory;  ///< Of the kubeconfig: a relative path is relative to it.
  std::string install_hint;
};

/// Where an API server is, how to know it, and as whom to speak to it.
struct Access {
  std::string server;  ///< "https://10.0.0.1:6443", no slash at the end.
  std::string
      origin;  ///< Where all this comes from, for messages: "context lab of /root/.kube/config".
  Secret authority;    ///< Whose certificates are trusted; the system's authorities if empty.
  Secret certificate;  ///< The client's.
  Secret key;
  Secret token;
  std::string tls_server_name;  ///< What the server's certificate must say, if not the host's name.
  std::string proxy_url;        ///< Empty: as HTTPS_PROXY says.
  std::optional<ExecPlugin> exec;
};

/// The pieces of a server's URL.
struct ServerUrl {
  bool tls = false;
  std::string host;  ///< Without the brackets of an IPv6 address.
  int port = 0;      ///< The scheme's if the URL has none.
  std::string path;  ///< "" or "/k8s/clusters/c-1".
  bool is_ipv6() const { return host.find(':') != std::string::npos; }
};

/// Reads "https://HOST[:PORT][/PATH]", or the same with http on this machine's loopback, which is
/// how `kubectl proxy` is reached. Errors: kInvalidArgument; plain HTTP to any other host would
/// show tokens and let anybody answer.
Result<ServerUrl> ParseServerUrl(std::string_view text);

/// Where a pod's service account is mounted.
inline constexpr std::string_view kServiceAccountDirectory =
    "/var/run/secrets/kubernetes.io/serviceaccount";

/// The access that a pod has: `host` and `port` are KUBERNETES_SERVICE_HOST and _PORT.
/// Source: client-go rest/config.go, InClusterConfig.
Result<Access> InClusterAccess(const std::string& host, const std::string& port,
                               std::string_view directory = kServiceAccountDirectory);

}  // namespace tenon::kubeapi
