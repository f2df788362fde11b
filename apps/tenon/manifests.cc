#include "tenon/manifests.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/strings.h"
#include "tenon/manifest_templates.h"
#include "value/value.h"

namespace tenon::cli {
namespace {

/// JSON's quotes are YAML's, too.
std::string Quoted(std::string_view text) {
  return ToJson(Value::String(text));
}

/// The templates are files of ours: what is looked for is there, and once.
void Replace(std::string& text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  TENON_CHECK(at != std::string::npos && text.find(from, at + 1) == std::string::npos);
  text.replace(at, from.size(), to);
}

std::string NamespaceOf(const ManifestOptions& options) {
  std::string text(kNamespaceTemplate);
  Replace(text, "name: tenon\n", fmt::format("name: {}\n", Quoted(options.namespace_name)));
  return text;
}

/// A text as a block that keeps every byte of it: lines indented, final newlines counted.
std::string Block(std::string_view text) {
  std::string block = text.ends_with('\n') ? "|2+\n" : "|2-\n";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    block += line.empty() ? "\n" : fmt::format("    {}\n", line);
    at = end + 1;
  }
  return block;
}

std::string ConfigMap(const ManifestOptions& options,
                      const std::map<std::string, std::string>& files) {
  std::string text = fmt::format(
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: tenond, namespace: {}}}\ndata:\n",
      Quoted(options.namespace_name));
  for (const auto& [name, content] : files)
    text += fmt::format("  {}: {}", Quoted(name), Block(content));
  return text;
}

std::string Volume(std::string_view name, std::string_view path, std::string_view type) {
  return fmt::format("      - {{name: {}, hostPath: {{path: {}, type: {}}}}}\n", name, Quoted(path),
                     type);
}

/// The directories that the template does not mount, and the arguments that go with them.
void AddDirectories(std::string& daemon_set, const ManifestOptions& options) {
  std::string args;
  std::string mounts;
  for (size_t i = 0; i < options.allow_paths.size(); ++i) {
    const std::string& path = options.allow_paths[i];
    args += ", " + Quoted("--allow-path=" + path);
    if (path == "/dev" || path.starts_with("/dev/")) continue;  // the template has it
    const std::string name = fmt::format("allowed-{}", i);
    mounts += fmt::format("        - {{name: {}, mountPath: {}, readOnly: true}}\n", name,
                          Quoted("/host" + path));
    daemon_set += Volume(name, path, "Directory");
  }
  if (options.cdi) {
    mounts += "        - {name: cdi, mountPath: /var/run/cdi}\n";
    daemon_set += Volume("cdi", "/var/run/cdi", "DirectoryOrCreate");
  }
  Replace(daemon_set, "--root=/host]", "--root=/host" + args + "]");
  Replace(daemon_set, "      volumes:\n", mounts + "      volumes:\n");
}

std::string DaemonSet(const ManifestOptions& options) {
  std::string text(kDaemonSetTemplate);
  Replace(text, "  name: tenond\n  labels",
          fmt::format("  name: tenond\n  namespace: {}\n  labels", Quoted(options.namespace_name)));
  Replace(text, "image: tenond\n", fmt::format("image: {}\n", Quoted(options.image)));
  for (std::string_view directory : {"device-plugins", "pod-resources"})
    Replace(text, fmt::format("path: /var/lib/kubelet/{},", directory),
            fmt::format("path: {},", Quoted(base::JoinPath(options.kubelet_dir, directory))));
  if (options.surge) {
    Replace(text, "{maxUnavailable: 1}", "{maxSurge: 1, maxUnavailable: 0}");
    // Two are there at once, and a control socket has one owner.
    Replace(text, "hostPath: {path: /run/tenon, type: DirectoryOrCreate}", "emptyDir: {}");
  }
  if (options.selinux)
    Replace(text, "          runAsUser: 0\n",
            "          runAsUser: 0\n          seLinuxOptions: {type: spc_t}\n");
  if (options.open_check)
    Replace(text, "          allowPrivilegeEscalation: false\n",
            "          privileged: true\n          allowPrivilegeEscalation: true\n");
  AddDirectories(text, options);
  return text;
}

}  // namespace

std::string Manifests(const ManifestOptions& options,
                      const std::map<std::string, std::string>& files) {
  return NamespaceOf(options) + "---\n" + ConfigMap(options, files) + "---\n" + DaemonSet(options);
}

}  // namespace tenon::cli
