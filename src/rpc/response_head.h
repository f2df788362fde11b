#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rpc/status.h"

namespace tenon::rpc {

/// The headers and trailers of a response, as far as gRPC needs them.
class ResponseHead final {
 public:
  void Add(std::string_view name, std::string_view value);

  /// Whether these are headers that announce others (HTTP status 1xx).
  bool interim() const { return http_status_.starts_with('1'); }
  const std::string& encoding() const { return encoding_; }
  /// How a response that is no gRPC answer ends; nullopt when it is one.
  std::optional<Status> Refusal() const;
  /// How the call ends when the stream has ended with these headers; `trailers` if it ended with
  /// headers and not with data.
  Status FinalStatus(bool trailers) const;

 private:
  std::string http_status_;
  std::string content_type_;
  std::string encoding_;
  std::optional<std::string> grpc_status_;
  std::string grpc_message_;
};

}  // namespace tenon::rpc
