#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::importer {

/// A text as YAML: plain where that cannot be read as anything else, in single quotes elsewhere.
std::string YamlText(std::string_view text);

/// A mapping on one line, "{path: /dev/fuse, shared: true}", of values that are YAML already.
class FlowMapping final {
 public:
  void Add(std::string_view key, std::string yaml) { members_.emplace_back(key, std::move(yaml)); }
  std::string Text() const;

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

/// One resource of a configuration, with what is to be said about it.
struct ImportedResource {
  std::string name;
  std::vector<std::string> notes;  ///< Sentences for people.
  std::vector<std::string> rules;  ///< Each one as YAML on one line.
  long long share = 1;
};

/// The whole file.
std::string RenderConfig(std::string_view domain, const std::vector<std::string>& notes,
                         const std::vector<ImportedResource>& resources);

}  // namespace tenon::importer
