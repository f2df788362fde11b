#pragma once

#include <map>
#include <string>

namespace tenon::process {

/// The environment variables of this process: for a program that is started as from a shell, and
/// for what is looked up in them.
std::map<std::string, std::string> OurEnvironment();

}  // namespace tenon::process
