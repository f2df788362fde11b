#include "process/environment.h"

#include <unistd.h>

#include <string_view>

namespace tenon::process {

std::map<std::string, std::string> OurEnvironment() {
  std::map<std::string, std::string> out;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

}  // namespace tenon::process
