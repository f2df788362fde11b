#pragma once

#include <cstdlib>
#include <string>

namespace tenon::spine {

/// Makes ROOT/sys of a layout of a real machine, as umockdev builds it: symlinks, attributes and
/// all. Returns: false where there is no umockdev-run.
inline bool MakeSysOfLayout(const std::string& layout, const std::string& root) {
  const std::string command = "umockdev-run --device " + layout +
                              " -- sh -c 'cp -a \"$UMOCKDEV_DIR\"/sys " + root + "' 2>&1";
  // NOLINTNEXTLINE(cert-env33-c,concurrency-mt-unsafe): a test's own command, with one thread.
  return std::system(command.c_str()) == 0;
}

}  // namespace tenon::spine
