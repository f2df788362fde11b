#include "rpc/response_head.h"

#include "base/strings.h"
#include "rpc/grpc_text.h"

namespace tenon::rpc {

void ResponseHead::Add(std::string_view name, std::string_view value) {
  if (name == ":status") http_status_ = value;
  if (name == "content-type") content_type_ = value;
  if (name == "grpc-encoding") encoding_ = value;
  if (name == "grpc-status") grpc_status_ = value;
  if (name == "grpc-message") grpc_message_ = value;
}

std::optional<Status> ResponseHead::Refusal() const {
  if (grpc_status_) return std::nullopt;
  if (http_status_ != "200") return StatusOfHttp(http_status_);
  if (IsGrpcContentType(content_type_)) return std::nullopt;
  if (content_type_.empty())
    return Status{StatusCode::kUnknown, "malformed header: missing HTTP content-type"};
  return Status{StatusCode::kUnknown, "transport: received unexpected content-type \"" +
                                          base::EscapeForLine(content_type_) + "\""};
}

Status ResponseHead::FinalStatus(bool trailers) const {
  if (grpc_status_) return ParseStatus(*grpc_status_, PercentDecode(grpc_message_));
  if (auto refusal = Refusal()) return *std::move(refusal);
  if (trailers) return {StatusCode::kUnknown, "the server sent no grpc-status"};
  return {StatusCode::kInternal, "server closed the stream without sending trailers"};
}

}  // namespace tenon::rpc
