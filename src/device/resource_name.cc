#include "device/resource_name.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon {
namespace {

// "requests." + domain must fit the 253 characters of a DNS subdomain.
constexpr size_t kMaxDomain = 253 - std::string_view("requests.").size();
constexpr size_t kMaxName = 63;

bool IsLower(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool IsAlnum(char c) {
  return IsLower(c) || (c >= 'A' && c <= 'Z');
}

bool IsDnsLabel(std::string_view label) {
  return !label.empty() && IsLower(label.front()) && IsLower(label.back()) &&
         std::ranges::all_of(label, [](char c) { return IsLower(c) || c == '-'; });
}

Error Invalid(std::string_view text, std::string_view why) {
  return {Code::kInvalidArgument,
          "resource name \"" + base::EscapeForLine(text) + "\": " + std::string(why)};
}

}  // namespace

bool IsDnsSubdomain(std::string_view text, size_t most) {
  return text.size() <= most && std::ranges::all_of(base::Split(text, '.'), IsDnsLabel);
}

Result<ResourceName> ResourceName::Parse(std::string_view text) {
  size_t slash = text.find('/');
  if (slash == std::string_view::npos)
    return Invalid(text, "needs a domain in front, as in example.com/serial");
  if (text.find("kubernetes.io/") != std::string_view::npos)
    return Invalid(text, "names in kubernetes.io/ belong to Kubernetes; use a domain of your own");
  if (text.starts_with("requests.")) return Invalid(text, "must not start with \"requests.\"");
  std::string_view domain = text.substr(0, slash);
  std::string_view name = text.substr(slash + 1);
  if (name.find('/') != std::string_view::npos) return Invalid(text, "has more than one \"/\"");
  if (domain.size() > kMaxDomain)
    return Invalid(text, "the domain is longer than " + std::to_string(kMaxDomain) + " characters");
  if (!IsDnsSubdomain(domain))
    return Invalid(text,
                   "the domain must be lower-case letters, digits and \"-\", in labels joined by "
                   "\".\" that begin and end with a letter or digit");
  if (name.empty() || name.size() > kMaxName)
    return Invalid(text, "the part after \"/\" must have 1 to 63 characters");
  if (!IsAlnum(name.front()) || !IsAlnum(name.back()) || !std::ranges::all_of(name, [](char c) {
        return IsAlnum(c) || c == '-' || c == '_' || c == '.';
      }))
    return Invalid(
        text,
        "the part after \"/\" must be letters, digits, \"-\", \"_\" and \".\", and begin "
        "and end with a letter or digit");
  return ResourceName(text);
}

std::string_view ResourceName::domain() const {
  return std::string_view{text_}.substr(0, text_.find('/'));
}

std::string_view ResourceName::name() const {
  return std::string_view{text_}.substr(text_.find('/') + 1);
}

}  // namespace tenon
