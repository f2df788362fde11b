#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tenon {

/// The name of an extended resource, "example.com/serial", that a kubelet accepts.
///
/// Rules: one "/"; a lower-case DNS-1123 subdomain of at most 244 characters before it; 1 to 63
/// characters [A-Za-z0-9] with [-_.] inside after it; "kubernetes.io/" nowhere in it; no
/// "requests." in front.
/// Source: kubernetes pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName.
class ResourceName final {
 public:
  /// Errors: kInvalidArgument, saying which rule `text` breaks and where.
  static Result<ResourceName> Parse(std::string_view text);

  const std::string& text() const { return text_; }
  std::string_view domain() const;
  std::string_view name() const;
  auto operator<=>(const ResourceName&) const = default;

 private:
  explicit ResourceName(std::string_view text) : text_(text) {}
  std::string text_;
};

/// Whether `text` is a DNS-1123 subdomain: labels [a-z0-9]([-a-z0-9]*[a-z0-9])? joined by dots,
/// at most `most` characters. Source: apimachinery validation.IsDNS1123Subdomain.
bool IsDnsSubdomain(std::string_view text, size_t most = 253);

}  // namespace tenon
