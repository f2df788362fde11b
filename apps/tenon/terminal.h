#pragma once

#include <string_view>

#include "base/result.h"

namespace tenon::cli {

/// Writes to standard output; what fails is found by FlushOutput().
void Print(std::string_view text);

/// Writes "tenon: text" to standard error, each line of it so; what a terminal would take for a
/// command is escaped.
void PrintError(std::string_view text);

/// PrintError() of the error's message. Returns: kExitFailed, so that a command can end with it.
int Fail(const Error& error);

/// Whether all that was printed has been taken: a full disk must not look like success.
bool FlushOutput();

}  // namespace tenon::cli
