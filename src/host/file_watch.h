#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "loop/event_loop.h"

namespace tenon::host {

/// Owns the watch on one directory; destroying it ends the watch, and after that its callback
/// never runs. Owner: must not outlive its FileWatch.
class DirectoryWatch {
 public:
  DirectoryWatch() = default;
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;
  virtual ~DirectoryWatch() = default;
};

/// Tells, by one inotify descriptor for all watches, when something in a directory changes.
///
/// An event is a hint to look again, not a fact to act on: names may come more than once, and
/// after an overflow each watch is called with an empty name. Thread: loop only.
class FileWatch {
 public:
  /// `name` is the entry that was made, removed, renamed or had its attributes changed; empty:
  /// look at everything. `gone`: the directory itself was removed or moved, the watch is dead.
  using Callback = std::function<void(const std::string& name, bool gone)>;

  enum class Interest {
    kEntries,           ///< What comes, goes and changes its attributes.
    kEntriesAndWrites,  ///< Also files that were written to, once the writer has closed them.
  };

  /// Errors: kResourceExhausted when the user's inotify instances are used up: poll instead.
  static Result<std::unique_ptr<FileWatch>> Create(loop::EventLoop& loop,
                                                   Interest interest = Interest::kEntries);
  FileWatch() = default;
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;
  virtual ~FileWatch() = default;

  /// Watches the directory at `path` (in the real file system). Several watches of one directory
  /// are told independently. Errors: kNotFound; kResourceExhausted, naming
  /// fs.inotify.max_user_watches, when there are no more watches.
  virtual Result<std::unique_ptr<DirectoryWatch>> Watch(const std::string& path,
                                                        Callback callback) = 0;
};

}  // namespace tenon::host
