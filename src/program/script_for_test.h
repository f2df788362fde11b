#pragma once

#include <sys/stat.h>

#include <string>

#include "host/temp_tree.h"

namespace tenon::program {

/// Writes a shell script to bin/ of the tree. Returns: its real path.
inline std::string Script(host::TempTree& tree, const std::string& name, const std::string& body) {
  tree.File("/bin/" + name, "#!/bin/sh\n" + body + "\n");
  ::chmod(tree.Real("/bin/" + name).c_str(), 0755);
  ::chmod(tree.Real("/bin").c_str(), 0755);
  return tree.Real("/bin/" + name);
}

}  // namespace tenon::program
