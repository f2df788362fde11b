#include "program/runner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "base/errno_error.h"
#include "base/strings.h"

namespace tenon::program {
namespace {

constexpr size_t kMostLineBytes = 200;

std::optional<std::string> RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (!real) return std::nullopt;
  return std::string(real.get());
}

bool IsBelow(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.starts_with(directory) && path.size() > directory.size() &&
         path[directory.size()] == '/';
}

Error Denied(const std::string& path, const std::string& why) {
  return {Code::kPermissionDenied, base::EscapeForLine(path) + ": " + why};
}

/// Nobody but root, or whoever we run as, can put something else in its place.
Result<void> CheckOwner(const std::string& path, bool is_program) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0) return base::ErrnoError("stat", path);
  if (is_program && !S_ISREG(file.st_mode)) return Denied(path, "is not a regular file");
  if (file.st_uid != 0 && file.st_uid != ::geteuid())
    return Denied(path, "belongs to user " + std::to_string(file.st_uid) +
                            "; a program and its directory have to be root's");
  if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Denied(path, "others may write to it; chmod go-w");
  return {};
}

/// The same of the program at `path` and of the directories above it, up to `top`.
Result<void> CheckOwners(const std::string& path, const std::string& top) {
  TENON_TRY_VOID(CheckOwner(path, true));
  const std::string end = top == "/" ? "" : top;
  std::string parent = path;
  do {
    parent.resize(parent.rfind('/'));
    TENON_TRY_VOID(CheckOwner(parent.empty() ? "/" : parent, false));
  } while (parent != end);
  return {};
}

/// The first line of what a program said about its failure.
std::string FirstLine(const process::ChildExit& exit) {
  const std::string_view said = exit.errors.empty() ? exit.output : exit.errors;
  return base::EscapeForLine(said.substr(0, std::min(said.find('\n'), kMostLineBytes)));
}

Result<std::string> Outcome(const std::string& path, process::ChildExit exit) {
  if (exit.ok() && exit.output_cut)
    return Error(Code::kResourceExhausted, path + ": wrote more than 64 KiB");
  if (exit.ok()) return std::move(exit.output);
  std::string text = path + ": " + exit.Describe();
  if (std::string line = FirstLine(exit); !line.empty()) text += ": " + line;
  return Error(exit.timed_out ? Code::kDeadlineExceeded : Code::kFailedPrecondition, text);
}

}  // namespace

Result<std::string> Runner::Resolve(const std::string& path) const {
  auto real = RealPath(path);
  if (!real) return base::ErrnoError("open", path);
  for (const std::string& directory : allowed_) {
    auto top = RealPath(directory);
    if (!top || !IsBelow(*real, *top)) continue;
    TENON_TRY_VOID(CheckOwners(*real, *top));
    return *std::move(real);
  }
  return Denied(path, "is in no directory that tenond was started with --allow-exec for");
}

Result<std::unique_ptr<process::Child>> Runner::Start(const Program& program,
                                                      std::map<std::string, std::string> env,
                                                      DoneFn done) {
  const std::string& path = program.argv.front();
  process::ChildOptions options{
      .argv = program.argv, .deadline = program.timeout, .dies_with_parent = true};
  TENON_TRY(options.argv.front(), Resolve(path));
  env.merge(options.env);
  options.env = std::move(env);
  return process::Child::Start(
      loop_, std::move(options),
      [name = base::EscapeForLine(path), done = std::move(done)](process::ChildExit exit) {
        // The call may destroy this.
        const DoneFn call = done;
        call(Outcome(name, std::move(exit)));
      });
}

}  // namespace tenon::program
