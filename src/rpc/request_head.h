#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::rpc {

/// The headers of a request, as far as gRPC needs them, and the checks of RFC 9113 §8 on all.
/// Any :authority passes: kubelets before 1.23 send the raw socket path.
class RequestHead final {
 public:
  void Add(std::string_view name, std::string_view value);

  /// Whether the peer broke HTTP/2's rules, for which a stream is reset and not answered.
  /// Only to be asked when all headers have come.
  bool malformed() const { return malformed_ || method_.empty() || path_.empty() || !has_scheme_; }

  const std::string& method() const { return method_; }
  const std::string& path() const { return path_; }
  const std::string& content_type() const { return content_type_; }
  const std::string& timeout() const { return timeout_; }    ///< grpc-timeout; may be empty.
  const std::string& encoding() const { return encoding_; }  ///< grpc-encoding; may be empty.
  /// How many bytes of DATA must come; nullopt if the client did not say.
  std::optional<uint64_t> content_length() const { return content_length_; }

 private:
  void AddPseudo(std::string_view name, std::string_view value);
  void AddContentLength(std::string_view value);

  bool malformed_ = false;
  bool regular_seen_ = false;
  bool has_scheme_ = false;
  bool has_authority_ = false;
  std::string method_;
  std::string path_;
  std::string content_type_;
  std::string timeout_;
  std::string encoding_;
  std::optional<uint64_t> content_length_;
};

}  // namespace tenon::rpc
