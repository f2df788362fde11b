#pragma once

#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "cdi/resolve.h"
#include "tenon/resource/connection.h"

namespace tenon::kubelet {

enum class RuntimeKind {
  kRunc,
  kCri,   ///< containerd, or another that speaks CRI.
  kNone,  ///< Pods are admitted, containers never run.
};

/// How `tenon kubelet` runs; docs/pods.md tells them.
struct KubeletOptions {
  std::string directory = "/run/tenon/kubelet";  ///< Its sockets, its checkpoint and its pods.
  bool take_over = false;                        ///< Use it although it is another kubelet's.
  std::string image_dir;                         ///< Where images are looked for by name.
  std::string manifest_dir;                      ///< Of static pods; empty: there are none.
  /// Where CDI specs are looked for; a later one overrides an earlier one.
  std::vector<std::string> cdi_directories{std::begin(cdi::kDirectories),
                                           std::end(cdi::kDirectories)};
  RuntimeKind runtime = RuntimeKind::kRunc;
  std::string runtime_path = "/usr/sbin/runc";  ///< The program, or the socket of a CRI runtime.
  std::string node_name;                        ///< Empty: the machine's host name.
  /// The Node object of a cluster that is told what is offered; empty: none is.
  std::string published_node;
  cli::ConnectionOptions connection;  ///< To its API server.
  std::string control;                ///< Empty: tenon-kubelet.sock in the directory.
  /// As the flags of the kubelet that have these names.
  std::string topology_policy = "none";
  std::string topology_scope = "container";
  std::map<std::string, std::string> topology_options;
  /// As the kubelet of 1.36 where ours differs; docs/kubelet.md has the list.
  bool compat = false;
  base::StreamLog::Format log_format = base::StreamLog::Format::kText;
  base::LogLevel log_level = base::LogLevel::kInfo;
};

/// Runs a kubelet in this process until SIGTERM or SIGINT; its log goes to standard error.
///
/// Containers are left running then, as a kubelet leaves them, and found again by the next one in
/// the same directory. Errors: it cannot start; the text says what to do.
Result<void> RunKubelet(const KubeletOptions& options);

}  // namespace tenon::kubelet
