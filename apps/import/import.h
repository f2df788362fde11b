#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Other plugins' configurations, written as one of tenond's. What differs stands above each
/// resource as a comment. docs/import.md has the list for users.
namespace tenon::importer {

enum class Format {
  kGenericDevicePlugin,   ///< squat/generic-device-plugin: its file, or the value of --device.
  kHostDevicePlugin,      ///< everpeace/k8s-host-device-plugin: config.json.
  kVirtualDevicePlugin,   ///< dtaniwaki/k8s-virtual-device-plugin: its YAML file.
  kSmarterDeviceManager,  ///< smarter-project/smarter-device-manager: conf.yaml.
};

/// The name of a format on the command line, and all of them.
struct NamedFormat {
  std::string_view name;
  Format format;
};
const std::vector<NamedFormat>& Formats();

/// One text to read, and what it is called in errors.
struct Input {
  std::string name;
  std::string text;
};

/// The equivalent of all inputs together. `domain` goes in front of names without one; empty: that
/// of the inputs, or what their plugin uses. Errors: kInvalidArgument with "file:line:column: what
/// it is"; nothing is left out silently.
Result<std::string> Import(Format format, const std::vector<Input>& inputs, std::string domain);

}  // namespace tenon::importer
