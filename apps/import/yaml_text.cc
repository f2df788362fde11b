#include "import/yaml_text.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon::importer {
namespace {

constexpr size_t kLineBytes = 98;

bool IsPlain(std::string_view text) {
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !(is_letter(text.front()) || text.front() == '/')) return false;
  for (std::string_view word : {"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
    if (text == word) return false;
  return std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("/._-*?+@").find(c) != std::string_view::npos;
  });
}

/// `text` as comment lines of a bearable width.
void AppendComment(std::string& out, std::string_view indent, std::string_view text) {
  std::string line = std::string(indent) + "#";
  const std::string escaped = base::EscapeForLine(text);
  for (std::string_view word : base::Split(escaped, ' ')) {
    if (line.size() + 1 + word.size() > kLineBytes && line.size() > indent.size() + 1) {
      out.append(line).append("\n");
      line = std::string(indent) + "#";
    }
    line.append(" ").append(word);
  }
  out.append(line).append("\n");
}

}  // namespace

std::string YamlText(std::string_view text) {
  if (IsPlain(text)) return std::string(text);
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += c;
  }
  return quoted + "'";
}

std::string FlowMapping::Text() const {
  std::string text = "{";
  for (const auto& [key, yaml] : members_)
    text.append(text.size() > 1 ? ", " : "").append(key).append(": ").append(yaml);
  return text + "}";
}

std::string RenderConfig(std::string_view domain, const std::vector<std::string>& notes,
                         const std::vector<ImportedResource>& resources) {
  std::string out;
  for (const std::string& note : notes)
    AppendComment(out, "", note);
  out.append("domain: ").append(YamlText(domain)).append("\nresources:\n");
  for (const ImportedResource& resource : resources) {
    for (const std::string& note : resource.notes)
      AppendComment(out, "  ", note);
    out.append("  - name: ").append(YamlText(resource.name)).append("\n");
    if (resource.share > 1) out.append("    share: " + std::to_string(resource.share) + "\n");
    out.append("    devices:\n");
    for (const std::string& rule : resource.rules)
      out.append("      - ").append(rule).append("\n");
  }
  return out;
}

}  // namespace tenon::importer
