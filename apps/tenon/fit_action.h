#pragma once

#include <string>

#include "tenon/options.h"

namespace tenon::cli {

/// `tenon pod fit`.
struct FitOptions {
  std::string pod;
  std::string kube_nodes;
  std::string others;  ///< Empty: no pod runs there.
  OutputFormat output = OutputFormat::kTable;
};

/// Prints for each kube node whether the pod fits. Returns: the exit code, 0 if it fits on any.
int RunFit(const FitOptions& options);

}  // namespace tenon::cli
