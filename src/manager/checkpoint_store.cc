#include "manager/checkpoint_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/errno_error.h"
#include "base/strings.h"
#include "base/unique_fd.h"
#include "checkpoint/checkpoint.h"
#include "host/atomic_file.h"

namespace tenon::manager {

DiskCheckpointFile::DiskCheckpointFile(loop::Worker& worker, const std::string& directory)
    : worker_(worker),
      directory_(directory),
      path_(base::JoinPath(directory, checkpoint::kFileName)) {}

Result<std::optional<std::string>> DiskCheckpointFile::Read() {
  TENON_TRY_VOID(RemoveLeftovers());
  base::UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) {
    if (errno == ENOENT) return std::optional<std::string>();
    return base::ErrnoError("open", path_);
  }
  std::string content;
  std::array<char, 65536> buffer;
  for (;;) {
    ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::ErrnoError("read", path_);
    if (got == 0) return std::optional(std::move(content));
    content.append(buffer.data(), static_cast<size_t>(got));
  }
}

/// host::WriteFileAtomically names its temporary files ".NAME.XXXXXX".
Result<void> DiskCheckpointFile::RemoveLeftovers() const {
  const std::string prefix = "." + std::string(checkpoint::kFileName) + ".";
  std::error_code error;
  std::filesystem::directory_iterator entry(directory_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(prefix)) continue;
    if (::unlink(entry->path().c_str()) != 0)
      return base::ErrnoError("unlink", entry->path().string());
  }
  if (error) return base::ErrnoError("readdir", directory_, error.value());
  return {};
}

Result<std::string> DiskCheckpointFile::SetAside() {
  for (int n = 1;; ++n) {
    std::string aside = path_ + ".corrupt-" + std::to_string(n);
    struct stat ignored;
    if (::lstat(aside.c_str(), &ignored) == 0) continue;
    if (errno != ENOENT) return base::ErrnoError("lstat", aside);
    if (::rename(path_.c_str(), aside.c_str()) != 0) return base::ErrnoError("rename", path_);
    return aside;
  }
}

void DiskCheckpointFile::Write(std::string content, Done done) {
  worker_.Submit([path = path_, content = std::move(content),
                  done = std::move(done)]() -> std::function<void()> {
    return [done, result = host::WriteFileAtomically(path, content, 0600)] { done(result); };
  });
}

CheckpointStore::~CheckpointStore() {
  if (waiting_.empty()) return;
  file_.Write(encode_(), [](const auto&) {});
}

void CheckpointStore::Save(CheckpointFile::Done done) {
  waiting_.push_back(std::move(done));
  if (!writing_) StartWrite();
}

void CheckpointStore::StartWrite() {
  writing_ = true;
  retry_.Cancel();
  served_ = std::exchange(waiting_, {});
  file_.Write(encode_(), [this, alive = std::weak_ptr(alive_)](const Result<void>& result) {
    if (!alive.expired()) OnWritten(result);
  });
}

void CheckpointStore::OnWritten(const Result<void>& result) {
  // Those who learn of a failure may undo what they did, and the next write must not have it: so
  // it starts after they are told.
  for (const CheckpointFile::Done& done : std::exchange(served_, {})) {
    if (result) {
      done({});
    } else {
      done(Error(result.error().code(),
                 "failed to write checkpoint file \"" + std::string(checkpoint::kFileName) +
                     "\": " + result.error().message(),
                 result.error().os_errno()));
    }
  }
  writing_ = false;
  if (!waiting_.empty()) {
    StartWrite();
  } else if (!result) {
    retry_ = timers_.After(kRetryDelay, [this] { Save([](const Result<void>&) {}); });
  }
}

}  // namespace tenon::manager
