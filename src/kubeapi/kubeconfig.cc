#include "kubeapi/kubeconfig.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "value/value.h"

namespace tenon::kubeapi {
namespace {

constexpr ParseLimits kLimits{.bytes = size_t{4} << 20, .depth = 32, .values = 100'000};
constexpr std::string_view kOtherWays =
    "a client certificate, token, tokenFile and exec are; or run 'kubectl proxy' and say --server "
    "http://127.0.0.1:8001";

std::string Directory(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

/// The names in a list, for messages: "a, b".
std::string Names(const Value& list) {
  std::vector<std::string> names;
  for (const Value& item : list.items()) {
    if (const Value* name = item.Find("name")) names.push_back(name->text());
  }
  return base::Join(names, ", ");
}

/// One kubeconfig while it is read.
class Reader final {
 public:
  Reader(const Value& top, const std::string& path) : top_(top), path_(path) {}

  Result<Access> Read(std::string context);

 private:
  Error At(Mark mark, std::string_view text) const {
    return {Code::kInvalidArgument, PlaceText(path_, mark) + ": " + std::string(text)};
  }
  /// The mapping `key` of the item with this name in the list `list`.
  Result<const Value*> Named(std::string_view list, std::string_view key,
                             const std::string& name) const;
  Result<std::string> Text(const Value& mapping, std::string_view key) const;
  Result<bool> Flag(const Value& mapping, std::string_view key) const;
  /// The value of `KEY-data`, decoded, or else the file that `KEY` names.
  Result<Secret> DataOrFile(const Value& mapping, const std::string& key) const;
  std::string Absolute(const std::string& path) const {
    return path.empty() || path.starts_with('/') ? path : base::JoinPath(Directory(path_), path);
  }
  Result<void> ReadCluster(const Value& cluster, Access& access) const;
  Result<void> ReadUser(const Value& user, Access& access) const;
  Result<ExecPlugin> ReadExec(const Value& exec) const;
  /// Arguments and variables of an exec.
  Result<void> ReadInvocation(const Value& exec, ExecPlugin& plugin) const;
  Result<void> CheckUser(const Value& user) const;

  const Value& top_;
  const std::string& path_;
};

Result<std::string> Reader::Text(const Value& mapping, std::string_view key) const {
  const Value* value = mapping.Find(key);
  if (value == nullptr || value->is_null()) return std::string();
  if (auto text = value->AsString()) return *std::move(text);
  return At(value->mark(),
            std::string(key) + " must be text, not " + std::string(value->KindName()));
}

Result<bool> Reader::Flag(const Value& mapping, std::string_view key) const {
  const Value* value = mapping.Find(key);
  if (value == nullptr || value->is_null()) return false;
  if (auto flag = value->AsBool()) return *flag;
  return At(value->mark(), std::string(key) + " must be true or false");
}

Result<Secret> Reader::DataOrFile(const Value& mapping, const std::string& key) const {
  TENON_TRY(std::string encoded, Text(mapping, key + "-data"));
  if (!encoded.empty()) {
    std::erase_if(encoded, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
    auto text = base::Base64Decode(encoded);
    if (text && !text->empty()) return Secret{.text = *std::move(text)};
    return At(mapping.Find(key + "-data")->mark(), key + "-data is not base64");
  }
  TENON_TRY(const std::string path, Text(mapping, key));
  return Secret{.path = Absolute(path)};
}

Result<const Value*> Reader::Named(std::string_view list, std::string_view key,
                                   const std::string& name) const {
  const Value* items = top_.Find(list);
  if (items != nullptr) {
    for (const Value& item : items->items()) {
      const Value* found = item.Find("name");
      if (found == nullptr || found->text() != name) continue;
      const Value* value = item.Find(key);
      if (value != nullptr && value->is_object()) return value;
      return At(item.mark(), std::string(key) + " of \"" + name + "\" must be a mapping");
    }
  }
  const std::string known = items == nullptr ? "" : Names(*items);
  return At(items == nullptr ? top_.mark() : items->mark(),
            "there is no \"" + name + "\" among the " + std::string(list) + "; there " +
                (known.empty() ? "are none" : "is: " + known));
}

Result<void> Reader::ReadCluster(const Value& cluster, Access& access) const {
  TENON_TRY(access.server, Text(cluster, "server"));
  const Value* server = cluster.Find("server");
  if (auto url = ParseServerUrl(access.server); !url)
    return At(server == nullptr ? cluster.mark() : server->mark(), url.error().message());
  TENON_TRY(const bool insecure, Flag(cluster, "insecure-skip-tls-verify"));
  if (insecure) {
    return At(cluster.Find("insecure-skip-tls-verify")->mark(),
              "insecure-skip-tls-verify is not supported: whoever answers would get the "
              "credentials; give certificate-authority, or run 'kubectl proxy' and say --server "
              "http://127.0.0.1:8001");
  }
  TENON_TRY(access.authority, DataOrFile(cluster, "certificate-authority"));
  TENON_TRY(access.tls_server_name, Text(cluster, "tls-server-name"));
  TENON_TRY(access.proxy_url, Text(cluster, "proxy-url"));
  return {};
}

Result<void> Reader::CheckUser(const Value& user) const {
  constexpr std::array<std::string_view, 8> kKnown = {"client-certificate",
                                                      "client-certificate-data",
                                                      "client-key",
                                                      "client-key-data",
                                                      "token",
                                                      "tokenFile",
                                                      "exec",
                                                      "extensions"};
  for (const Value::Member& member : user.members()) {
    if (member.value.is_null() || std::ranges::count(kKnown, member.key) != 0) continue;
    return At(member.key_mark, member.key + " is not supported; " + std::string(kOtherWays));
  }
  return {};
}

Result<void> Reader::ReadInvocation(const Value& exec, ExecPlugin& plugin) const {
  if (const Value* args = exec.Find("args")) {
    for (const Value& arg : args->items()) {
      auto text = arg.AsString();
      if (!text) return At(arg.mark(), "exec: args must be texts");
      plugin.argv.push_back(*std::move(text));
    }
  }
  if (const Value* env = exec.Find("env")) {
    for (const Value& item : env->items()) {
      TENON_TRY(std::string name, Text(item, "name"));
      TENON_TRY(std::string value, Text(item, "value"));
      if (name.empty()) return At(item.mark(), "exec: a variable needs a name");
      plugin.env.emplace_back(std::move(name), std::move(value));
    }
  }
  return {};
}

Result<ExecPlugin> Reader::ReadExec(const Value& exec) const {
  if (!exec.is_object()) return At(exec.mark(), "exec must be a mapping");
  ExecPlugin plugin;
  plugin.directory = Directory(path_);
  TENON_TRY(plugin.api_version, Text(exec, "apiVersion"));
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return At(exec.mark(), "exec: apiVersion must be client.authentication.k8s.io/v1 or /v1beta1");
  }
  TENON_TRY(plugin.install_hint, Text(exec, "installHint"));
  TENON_TRY(std::string command, Text(exec, "command"));
  if (command.empty()) return At(exec.mark(), "exec: command is missing");
  plugin.argv.push_back(std::move(command));
  TENON_TRY_VOID(ReadInvocation(exec, plugin));
  return plugin;
}

Result<void> Reader::ReadUser(const Value& user, Access& access) const {
  TENON_TRY_VOID(CheckUser(user));
  TENON_TRY(access.certificate, DataOrFile(user, "client-certificate"));
  TENON_TRY(access.key, DataOrFile(user, "client-key"));
  if (access.certificate.empty() != access.key.empty())
    return At(user.mark(), "client-certificate and client-key belong together: one is missing");
  TENON_TRY(access.token.text, Text(user, "token"));
  TENON_TRY(const std::string token_file, Text(user, "tokenFile"));
  access.token.path = Absolute(token_file);
  if (const Value* exec = user.Find("exec"); exec != nullptr && !exec->is_null()) {
    TENON_TRY(access.exec, ReadExec(*exec));
  }
  return {};
}

Result<Access> Reader::Read(std::string context) {
  if (!top_.is_object()) return At(top_.mark(), "a kubeconfig is a mapping");
  if (context.empty()) {
    TENON_TRY(context, Text(top_, "current-context"));
    if (context.empty())
      return At(top_.mark(), "there is no current-context; choose one with --context");
  }
  TENON_TRY(const Value* chosen, Named("contexts", "context", context));
  TENON_TRY(const std::string cluster_name, Text(*chosen, "cluster"));
  TENON_TRY(const Value* cluster, Named("clusters", "cluster", cluster_name));
  TENON_TRY(const std::string user_name, Text(*chosen, "user"));
  Access access;
  access.origin = "context " + context + " of " + path_;
  TENON_TRY_VOID(ReadCluster(*cluster, access));
  if (user_name.empty()) return access;
  TENON_TRY(const Value* user, Named("users", "user", user_name));
  TENON_TRY_VOID(ReadUser(*user, access));
  return access;
}

}  // namespace

Result<Access> ParseKubeconfig(std::string_view text, const std::string& path,
                               const std::string& context) {
  TENON_TRY(const std::vector<Value> documents, ParseYaml(text, path, kLimits));
  if (documents.size() != 1) {
    return Error(Code::kInvalidArgument, path + ": holds " + std::to_string(documents.size()) +
                                             " documents; a kubeconfig is one");
  }
  return Reader(documents.front(), path).Read(context);
}

}  // namespace tenon::kubeapi
