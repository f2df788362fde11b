#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "config/files.h"
#include "tenon/commands.h"
#include "tenon/manifests.h"
#include "tenon/options.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  ManifestOptions manifests{.image = "tenond:" TENON_VERSION};
};

/// A name that the API would refuse is better refused here.
/// Source: metav1 namespace names are DNS labels (RFC 1123).
bool IsDnsLabel(const std::string& text) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 63 && alphanumeric(text.front()) &&
         alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return alphanumeric(c) || c == '-'; });
}

std::optional<std::string> Mistake(const ManifestOptions& options) {
  if (!IsDnsLabel(options.namespace_name))
    return "--namespace " + options.namespace_name +
           ": must be lower-case letters, digits and '-', at most 63, and begin and end with a "
           "letter or digit";
  if (options.image.empty()) return "--image: is empty";
  if (!options.kubelet_dir.starts_with('/'))
    return "--kubelet-dir " + options.kubelet_dir + ": must be an absolute path";
  for (const std::string& path : options.allow_paths)
    if (!path.starts_with('/')) return "--allow-path " + path + ": must be an absolute path";
  return std::nullopt;
}

/// Source: apimachinery, IsConfigMapKey.
bool IsConfigMapKey(const std::string& name) {
  return name.size() <= 253 && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

/// The texts of the configuration by the names that they get in one directory.
/// Errors: kInvalidArgument where two files have one name, or one that no ConfigMap takes; what the
/// system says, with the path.
Result<std::map<std::string, std::string>> FilesOf(const std::vector<std::string>& paths) {
  std::map<std::string, std::string> files;
  for (const std::string& path : paths) {
    TENON_TRY(const std::vector<std::string> found, config::FilesAt(path));
    for (const std::string& file : found) {
      TENON_TRY(std::string text, config::ReadFile(file));
      const std::string name = std::filesystem::path(file).filename();
      if (!IsConfigMapKey(name))
        return Error(Code::kInvalidArgument,
                     file +
                         ": a ConfigMap's file has a name of letters, digits, '-', '_' and '.', "
                         "at most 253; rename it");
      if (!files.emplace(name, std::move(text)).second)
        return Error(Code::kInvalidArgument,
                     fmt::format("{}: a file named {} is there already, and a ConfigMap is one "
                                 "directory; rename one",
                                 file, name));
    }
  }
  return files;
}

int Run(Options options) {
  if (auto mistake = Mistake(options.manifests)) {
    PrintError(*mistake);
    return kExitUsage;
  }
  auto outcome = config::LoadPaths(options.paths, {.allow_paths = options.manifests.allow_paths});
  for (const std::string& error : outcome.errors)
    PrintError(error);
  if (!outcome.config) return kExitFailed;
  for (const auto& resource : outcome.config->resources) {
    options.manifests.cdi |= resource.cdi != config::Cdi::kNo;
    options.manifests.open_check |= resource.open_check.has_value();
  }
  auto files = FilesOf(options.paths);
  if (!files) return Fail(files.error());
  Print(Manifests(options.manifests, *files));
  return kExitOk;
}

}  // namespace

RunFn AddManifestsCommand(CLI::App& app) {
  auto options = std::make_shared<Options>();
  AddConfigOption(app, options->paths);
  app.add_option("--image", options->manifests.image, "Image of tenond, as nodes know it")
      ->type_name("IMAGE")
      ->capture_default_str();
  app.add_option("--namespace", options->manifests.namespace_name, "Namespace to be made for it")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--kubelet-dir", options->manifests.kubelet_dir,
                 "Where the kubelets keep device-plugins and pod-resources")
      ->type_name("DIR")
      ->capture_default_str();
  AddAllowPathOption(app, options->manifests.allow_paths);
  app.add_flag("--surge", options->manifests.surge,
               "Start a new tenond before the old one ends (Kubernetes 1.25 and newer)");
  app.add_flag("--selinux", options->manifests.selinux, "For nodes that enforce SELinux");
  app.footer(
      "Prints a Namespace, a ConfigMap with the configuration and a DaemonSet, the same that\n"
      "deploy/kubernetes makes. A wrong configuration is refused, with every error.\n\n"
      "Examples:\n"
      "  tenon manifests --config config.yaml | kubectl apply -f -\n"
      "  tenon manifests --config config.yaml --image registry.example.com/tenond:0.1.0 --surge");
  return [options] { return Run(*options); };
}

}  // namespace tenon::cli
