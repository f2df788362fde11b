#include "rpc/request_head.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace tenon::rpc {
namespace {

/// Headers of HTTP/1 connections. Source: RFC 9113 §8.2.2.
constexpr std::array<std::string_view, 5> kConnectionHeaders = {
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"};

bool IsAllowedInName(char c) {
  return c > ' ' && c < 0x7f && c != ':' && (c < 'A' || c > 'Z');
}

}  // namespace

void RequestHead::Add(std::string_view name, std::string_view value) {
  if (name.starts_with(':')) return AddPseudo(name, value);
  regular_seen_ = true;
  malformed_ |= name.empty() || !std::ranges::all_of(name, IsAllowedInName) ||
                std::ranges::find(kConnectionHeaders, name) != kConnectionHeaders.end() ||
                (name == "te" && value != "trailers");
  if (name == "content-type") content_type_ = value;
  if (name == "grpc-timeout") timeout_ = value;
  if (name == "grpc-encoding") encoding_ = value;
  if (name == "content-length") AddContentLength(value);
}

void RequestHead::AddContentLength(std::string_view value) {
  uint64_t length = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
  malformed_ |= error != std::errc() || end != value.data() + value.size() || content_length_;
  content_length_ = length;
}

void RequestHead::AddPseudo(std::string_view name, std::string_view value) {
  malformed_ |= regular_seen_;
  if (name == ":method") {
    malformed_ |= !method_.empty();
    method_ = value;
  } else if (name == ":path") {
    malformed_ |= !path_.empty();
    path_ = value;
  } else if (name == ":scheme") {
    malformed_ |= std::exchange(has_scheme_, true);
  } else if (name == ":authority") {
    malformed_ |= std::exchange(has_authority_, true);
  } else {
    malformed_ = true;
  }
}

}  // namespace tenon::rpc
