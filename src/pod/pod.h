#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pod/quantity.h"

namespace tenon::pod {

struct EnvVar {
  std::string name;
  std::string value;
  bool operator==(const EnvVar&) const = default;
};

/// One container of a pod: the fields of v1 Container that this cut knows.
struct Container {
  std::string name;
  std::string image;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::vector<EnvVar> env;  ///< In the order of the manifest; a later one may use earlier ones.
  std::string working_dir;  ///< Empty: "/".
  std::map<std::string, Quantity> limits;
  std::map<std::string, Quantity> requests;  ///< Those given, and limits where none is given.
  /// An init container with restartPolicy Always: the next one starts when it runs, and it runs,
  /// again and again if it must, until all app containers have ended.
  bool sidecar = false;
  bool operator==(const Container&) const = default;
};

/// What becomes of a container that has ended.
enum class RestartPolicy {
  kAlways,     ///< It is started again; an init container only if it has failed.
  kOnFailure,  ///< It is started again if it has failed.
  kNever,
};
/// As the API writes it, "OnFailure".
std::string_view RestartPolicyName(RestartPolicy policy);

/// A pod as a manifest describes it.
struct Pod {
  std::string name;
  std::string namespace_name = "default";
  std::string uid;  ///< Never empty: also the name of a directory and of a cgroup.
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::vector<Container> init_containers;
  std::vector<Container> containers;
  RestartPolicy restart_policy = RestartPolicy::kNever;
  std::chrono::seconds termination_grace{30};
  bool operator==(const Pod&) const = default;

  std::string FullName() const { return namespace_name + "/" + name; }
};

/// The container's limits of extended resources (all but cpu, memory and the like), as counts.
std::map<std::string, int64_t> ExtendedLimits(const Container& container);

/// Replaces $(NAME) by the value of a variable in `env` (the last of that name); $$ stands for
/// $, and a name that is not there stays as it is written.
/// Source: kubernetes third_party/forked/golang/expansion, used for command, args and env.
std::string ExpandVariables(std::string_view text, const std::vector<EnvVar>& env);

/// A random version 4 UUID.
std::string RandomUid();

}  // namespace tenon::pod
