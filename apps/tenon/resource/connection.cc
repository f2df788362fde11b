#include "tenon/resource/connection.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "kubeapi/access.h"
#include "kubeapi/kubeconfig.h"
#include "tenon/resource/exec_credential.h"

namespace tenon::cli {
namespace {

constexpr size_t kMostKubeconfigBytes = size_t{4} << 20;
constexpr std::string_view kUserAgent = "tenon/" TENON_VERSION;

std::string Variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

Error Invalid(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

/// The kubeconfig to read; nullopt if nobody names one and none is in its usual place.
Result<std::optional<std::string>> FindKubeconfig(const ConnectionOptions& options,
                                                  const Environment& environment,
                                                  host::Host& host) {
  std::string path = options.kubeconfig;
  if (path.empty()) path = Variable(environment, "KUBECONFIG");
  if (path.find(':') != std::string::npos && options.kubeconfig.empty()) {
    return Invalid("KUBECONFIG names several files, " + path +
                   ", which are not merged here; choose one with --kubeconfig");
  }
  if (!path.empty()) {
    std::error_code error;
    std::string absolute = std::filesystem::absolute(path, error);
    if (error) return Invalid(path + ": " + error.message());
    return std::optional(std::move(absolute));
  }
  const std::string home = Variable(environment, "HOME");
  if (!home.starts_with('/')) return std::optional<std::string>();
  std::string usual = base::JoinPath(home, ".kube/config");
  if (!host.Stat(usual)) return std::optional<std::string>();
  return std::optional(std::move(usual));
}

Result<kubeapi::Access> ReadKubeconfig(const std::string& path, const std::string& context,
                                       host::Host& host) {
  TENON_TRY(const std::string text, host.Read(path, kMostKubeconfigBytes));
  return kubeapi::ParseKubeconfig(text, path, context);
}

Result<kubeapi::Access> FindServiceAccount(const Environment& environment) {
  const std::string host_name = Variable(environment, "KUBERNETES_SERVICE_HOST");
  if (host_name.empty()) {
    return Invalid(
        "no API server is named: say --kubeconfig FILE, set KUBECONFIG, or run 'kubectl proxy' and "
        "say --server http://127.0.0.1:8001");
  }
  return kubeapi::InClusterAccess(host_name, Variable(environment, "KUBERNETES_SERVICE_PORT"));
}

}  // namespace

Result<kubeapi::Access> FindAccess(const ConnectionOptions& options, const Environment& environment,
                                   host::Host& host) {
  if (!options.server.empty()) {
    auto url = kubeapi::ParseServerUrl(options.server);
    if (!url) return std::move(url).error().Wrap("--server");
    // A proxy on this machine has credentials of its own.
    if (!url->tls) return kubeapi::Access{.server = options.server, .origin = "--server"};
  }
  TENON_TRY(const std::optional<std::string> path, FindKubeconfig(options, environment, host));
  if (!path && !options.context.empty()) return Invalid("--context needs a kubeconfig");
  TENON_TRY(kubeapi::Access access,
            path ? ReadKubeconfig(*path, options.context, host) : FindServiceAccount(environment));
  if (!options.server.empty()) access.server = options.server;
  if (access.exec && !options.allow_exec) {
    return Error(Code::kPermissionDenied,
                 access.origin + " runs a program for its credentials, " +
                     access.exec->argv.front() +
                     "; say --allow-kubeconfig-exec to have it run, if you trust the file");
  }
  return access;
}

Result<std::unique_ptr<Connection>> Connection::Open(loop::EventLoop& loop,
                                                     const ConnectionOptions& options,
                                                     const Environment& environment) {
  std::unique_ptr<Connection> connection(new Connection(loop));
  TENON_TRY(connection->host_, host::PosixHost::Open("/"));
  TENON_TRY(kubeapi::Access access, FindAccess(options, environment, *connection->host_));
  if (access.exec) TENON_TRY_VOID(RunExecPlugin(loop, environment, access));
  TENON_TRY(connection->transport_, kubeapi::HttpTransport::Create(loop));
  connection->client_ =
      std::make_unique<kubeapi::ApiClient>(loop, *connection->transport_, *connection->host_,
                                           std::move(access), std::string(kUserAgent));
  return connection;
}

kubeapi::ApiAnswer Connection::Call(kubeapi::ApiRequest request) {
  // Time may have passed outside the loop: deadlines count from now.
  loop_.RunUntil([] { return false; }, base::Duration::zero());
  std::optional<kubeapi::ApiAnswer> got;
  auto call = client_->Send(std::move(request),
                            [&got](kubeapi::ApiAnswer answer) { got = std::move(answer); });
  // The client has deadlines for all that it waits for.
  while (!got)
    loop_.RunUntil([&got] { return got.has_value(); }, std::chrono::hours(1));
  return *std::move(got);
}

}  // namespace tenon::cli
