#include "tenon/resource/exec_credential.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/errno_error.h"
#include "base/strings.h"
#include "process/child.h"
#include "value/value.h"

namespace tenon::cli {
namespace {

/// It may have to ask a server far away.
constexpr base::Duration kDeadline = std::chrono::minutes(1);
constexpr base::Duration kSlack = std::chrono::seconds(5);

Result<std::string> TextAt(const Value& status, std::string_view key) {
  const Value* value = status.Find(key);
  if (value == nullptr || value->is_null()) return std::string();
  if (auto text = value->AsString()) return *std::move(text);
  return Error(Code::kInvalidArgument, std::string(key) + " is not text");
}

/// The program as exec wants it: an absolute path. A name without a slash is looked up in PATH.
Result<std::string> FindProgram(const kubeapi::ExecPlugin& plugin,
                                const std::map<std::string, std::string>& environment) {
  const std::string& name = plugin.argv.front();
  if (name.starts_with('/')) return name;
  if (name.find('/') != std::string::npos) return base::JoinPath(plugin.directory, name);
  const auto path = environment.find("PATH");
  const std::string directories = path == environment.end() ? "" : path->second;
  for (std::string_view directory : base::Split(directories, ':')) {
    std::string candidate = base::JoinPath(directory, name);
    if (directory.starts_with('/') && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  std::string hint = plugin.install_hint.empty() ? "" : "; " + plugin.install_hint;
  return Error(Code::kNotFound, name + " is not in PATH" + hint);
}

std::string ExecInfo(const kubeapi::ExecPlugin& plugin) {
  Value spec = Value::Object();
  spec.Add("interactive", Value::Bool(false));
  Value top = Value::Object();
  top.Add("apiVersion", Value::String(plugin.api_version));
  top.Add("kind", Value::String("ExecCredential"));
  top.Add("spec", std::move(spec));
  return ToJson(top);
}

}  // namespace

Result<void> ReadExecCredential(std::string_view text, kubeapi::Access& access) {
  TENON_TRY(const Value top, ParseJson(text, "its output"));
  TENON_TRY(const std::string kind, TextAt(top, "kind"));
  const Value* status = top.Find("status");
  if (kind != "ExecCredential" || status == nullptr || !status->is_object())
    return Error(Code::kInvalidArgument, "its output is no ExecCredential with a status");
  TENON_TRY(access.token.text, TextAt(*status, "token"));
  TENON_TRY(access.certificate.text, TextAt(*status, "clientCertificateData"));
  TENON_TRY(access.key.text, TextAt(*status, "clientKeyData"));
  if (access.certificate.empty() != access.key.empty())
    return Error(Code::kInvalidArgument, "it gave a client certificate or a key, not both");
  if (access.token.empty() && access.certificate.empty())
    return Error(Code::kInvalidArgument, "it gave neither a token nor a client certificate");
  return {};
}

Result<void> RunExecPlugin(loop::EventLoop& loop,
                           const std::map<std::string, std::string>& environment,
                           kubeapi::Access& access) {
  const kubeapi::ExecPlugin& plugin = *access.exec;
  const std::string context = "exec of " + access.origin;
  auto program = FindProgram(plugin, environment);
  if (!program) return std::move(program).error().Wrap(context);
  process::ChildOptions options{.argv = plugin.argv, .env = environment, .deadline = kDeadline};
  options.argv.front() = *std::move(program);
  for (const auto& [name, value] : plugin.env)
    options.env[name] = value;
  options.env["KUBERNETES_EXEC_INFO"] = ExecInfo(plugin);
  std::optional<process::ChildExit> ended;
  auto child = process::Child::Start(
      loop, options, [&ended](process::ChildExit exit) { ended = std::move(exit); });
  if (!child) return std::move(child).error().Wrap(context);
  loop.RunUntil([&ended] { return ended.has_value(); }, kDeadline + kSlack);
  const std::string who = context + ": " + options.argv.front();
  if (!ended || !ended->ok()) {
    return Error(Code::kFailedPrecondition,
                 who + ": " + (ended ? ended->Describe() : "does not end") +
                     (ended && !ended->errors.empty() ? ": " + ended->errors : ""));
  }
  if (auto read = ReadExecCredential(ended->output, access); !read)
    return std::move(read).error().Wrap(who);
  return {};
}

}  // namespace tenon::cli
