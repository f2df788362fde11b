#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "subject.h"

namespace tenon::bench {

/// Makes a character device node that belongs to no driver. Ends the program with a message if it
/// cannot.
void MakeDeviceNode(const std::string& path, int minor);

/// A temporary directory with a place for each plugin, removed at the end.
class Workspace final {
 public:
  Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();

  /// `tenond`, static, alone in an empty root as in an image FROM scratch. With `devices` of 0 it
  /// has the four resources and eight devices of the small case, else one resource with so many.
  SubjectPlan Tenond(const std::string& binary, int devices);
  /// The grpc++ plugin with the same resources and devices.
  SubjectPlan Grpcpp(const std::string& binary, int devices);
  /// Any other: "{dir}" in its command is the device-plugin directory, "{devices}" one where a
  /// device node appears.
  SubjectPlan Peer(const std::string& command, size_t resources);

 private:
  std::string Place(const std::string& name, int devices);

  std::string root_;
};

}  // namespace tenon::bench
