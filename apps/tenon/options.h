#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tenon::cli {

struct ConnectionOptions;

enum class OutputFormat {
  kTable,  ///< For people; may change.
  kJson,   ///< For programs; fields are only ever added.
};

/// -o, --output.
void AddOutputOption(CLI::App& app, OutputFormat& format);

/// --kubelet-dir, the directory of `tenon kubelet`.
void AddKubeletDirOption(CLI::App& app, std::string& directory);

/// -n, --namespace.
void AddNamespaceOption(CLI::App& app, std::string& name, const std::string& help);

/// --config, as tenond has it.
void AddConfigOption(CLI::App& app, std::vector<std::string>& paths);

/// --allow-path, as tenond has it.
void AddAllowPathOption(CLI::App& app, std::vector<std::string>& prefixes);

/// "--allow-exec DIR", any number of times: directories whose programs a configuration may name.
void AddAllowExecOption(CLI::App& app, std::vector<std::string>& directories);

/// --kubeconfig, --context, --server and --allow-kubeconfig-exec: which API server.
void AddConnectionOptions(CLI::App& app, ConnectionOptions& options);

}  // namespace tenon::cli
