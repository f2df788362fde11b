#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "value/value.h"

namespace tenon::cli {

/// What a kube node's side of device plugins is examined with.
struct DoctorOptions {
  std::string kubelet_dir = "/var/lib/kubelet";
  std::string control = "/run/tenon/tenond.sock";
  std::string root = "/";            ///< /etc, /proc, /run and /sys are looked at below it.
  std::vector<std::string> configs;  ///< Of tenond; none: not looked at.
  std::vector<std::string> allow_paths;
  std::vector<std::string> allow_exec;
};

/// One thing that was looked at.
struct Finding {
  enum class Verdict {
    kGood,
    kNote,  ///< Works, or may be meant so.
    kBad,   ///< Devices will not reach pods like this.
  };
  Verdict verdict = Verdict::kGood;
  std::string what;    ///< "device-plugin directory".
  std::string found;   ///< One sentence, without a full stop.
  std::string advice;  ///< What to do; empty if nothing.
};

/// Looks at everything once, changes nothing. Waits at most some seconds for sockets that do not
/// answer. Errors: the root cannot be opened.
Result<std::vector<Finding>> Examine(const DoctorOptions& options);

std::string RenderFindings(const std::vector<Finding>& findings);
Value ToValue(const std::vector<Finding>& findings);

}  // namespace tenon::cli
