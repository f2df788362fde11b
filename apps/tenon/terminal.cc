#include "tenon/terminal.h"

#include <cstdio>
#include <string>

#include "base/strings.h"
#include "tenon/commands.h"

namespace tenon::cli {
namespace {

/// Messages quote what to write instead, backslashes included, so those stay as they are.
std::string EscapeButBackslashes(std::string_view text) {
  std::string out;
  for (std::string_view part : base::Split(text, '\\')) {
    if (part.data() != text.data()) out.push_back('\\');
    out += base::EscapeForLine(part);
  }
  return out;
}

}  // namespace

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void PrintError(std::string_view text) {
  FlushOutput();  // So that on a terminal both stand in the order in which they were said.
  for (std::string_view part : base::Split(text, '\n')) {
    std::string line = "tenon: " + EscapeButBackslashes(part) + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
}

int Fail(const Error& error) {
  PrintError(error.message());
  return kExitFailed;
}

bool FlushOutput() {
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

}  // namespace tenon::cli
