#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tenon::loop {

/// A listening stream socket with a name in the file system.
///
/// It is bound under a hidden name in the same directory, listens, and is then renamed into
/// place, so whoever sees it can connect. The file is removed at the end only if it still is the
/// one that was made here: a successor's is left alone. Thread: any.
class UnixListener final {
 public:
  /// A socket at `path` that nobody listens on is replaced. Errors: kFailedPrecondition when one
  /// there answers or another kind of file is there; kInvalidArgument when the path is too long;
  /// else the system call and the path.
  static Result<std::unique_ptr<UnixListener>> Listen(std::string path, mode_t mode);
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;
  ~UnixListener();

  int fd() const { return fd_.get(); }  ///< Non-blocking.
  const std::string& path() const { return path_; }

  /// Whether the file at the path is still the one made here.
  bool is_ours() const;

 private:
  UnixListener(std::string path, base::UniqueFd fd, dev_t device, ino_t inode)
      : path_(std::move(path)), fd_(std::move(fd)), device_(device), inode_(inode) {}

  const std::string path_;
  const base::UniqueFd fd_;
  const dev_t device_;
  const ino_t inode_;
};

/// A non-blocking stream socket connected to `path`; on unix sockets connecting never has to
/// wait. Errors: kNotFound when no file is there; kUnavailable when nobody listens or the
/// listener's queue is full; kInvalidArgument when the path is too long.
Result<base::UniqueFd> ConnectUnix(const std::string& path);

}  // namespace tenon::loop
