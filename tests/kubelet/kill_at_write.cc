// Preloaded into a program, ends it as kill -9 does while it writes a checkpoint or a pod's record.
//
// Each of its calls that make, write, sync or rename such a file, or sync its directory, is a step.
// Once there is a file whose path is in TENON_KILL_FILE, as many steps as its number says are still
// done; of the next one, if it writes, half is.

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

// Not from fcntl.h, which has declarations of its own of what is defined here.
constexpr int kCurrentDirectory = -100;
constexpr int kForReading = 0;

// A file is written by one thread from its first step to its last.
thread_local int written_file = -1;
thread_local int its_directory = -1;

bool IsTemporary(const char* name) {
  for (const char* start : {".kubelet_internal_checkpoint.", ".record.json."})
    if (std::strncmp(name, start, std::strlen(start)) == 0) return true;
  return false;
}

/// What the file says; -1: it is not there.
int StepsToGo() {
  const char* path = std::getenv("TENON_KILL_FILE");
  const auto fd =
      path == nullptr
          ? -1
          : static_cast<int>(::syscall(SYS_openat, kCurrentDirectory, path, kForReading));
  if (fd < 0) return -1;
  char text[16] = {};
  const ssize_t got = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  return got > 0 ? std::atoi(text) : 0;
}

bool IsTheLastStep() {
  static std::atomic<int> left{-1};
  if (left < 0) left = StepsToGo();
  return left >= 0 && left-- == 0;
}

void Step() {
  if (IsTheLastStep()) ::kill(::getpid(), SIGKILL);
}

}  // namespace

extern "C" {

int openat(int directory, const char* name, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = va_arg(arguments, unsigned);
  va_end(arguments);
  const bool ours = IsTemporary(name);
  if (ours) Step();
  const auto fd = static_cast<int>(::syscall(SYS_openat, directory, name, flags, mode));
  if (ours) written_file = fd;
  if (ours) its_directory = directory;
  return fd;
}

ssize_t write(int fd, const void* bytes, size_t size) {
  const bool last = fd >= 0 && fd == written_file && IsTheLastStep();
  const ssize_t written = ::syscall(SYS_write, fd, bytes, last ? size / 2 : size);
  if (last) ::kill(::getpid(), SIGKILL);
  return written;
}

int fsync(int fd) {
  const bool ours = fd >= 0 && (fd == written_file || fd == its_directory);
  if (ours) Step();
  if (ours && fd == its_directory) written_file = its_directory = -1;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) {
  if (IsTemporary(from)) Step();
  written_file = -1;
  return static_cast<int>(
      ::syscall(SYS_renameat2, from_directory, from, to_directory, to, /*flags=*/0));
}

}  // extern "C"
