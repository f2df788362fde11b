#include "cri/client.h"

#include <utility>

namespace tenon::cri {
namespace {

Code ToCode(rpc::StatusCode code) {
  switch (code) {
    case rpc::StatusCode::kNotFound:
      return Code::kNotFound;
    case rpc::StatusCode::kUnavailable:
      return Code::kUnavailable;
    case rpc::StatusCode::kDeadlineExceeded:
      return Code::kDeadlineExceeded;
    default:
      return Code::kInternal;
  }
}

/// A call and the connection that it is on, which outlives the client's interest in it: others
/// may be on a new one by then.
class PinnedCall final : public rpc::ClientCall {
 public:
  PinnedCall(std::shared_ptr<rpc::Channel> channel, std::string_view method, std::string request,
             base::Duration deadline, rpc::Channel::UnaryDone done)
      : channel_(std::move(channel)),
        call_(channel_->Unary(method, std::move(request), deadline, std::move(done))) {}

 private:
  const std::shared_ptr<rpc::Channel> channel_;
  const std::unique_ptr<rpc::ClientCall> call_;  // Ends before its channel.
};

}  // namespace

std::unique_ptr<rpc::ClientCall> Client::Call(std::string_view method, std::string request,
                                              base::Duration deadline, Done done) {
  if (!channel_ || lost_) {
    lost_ = false;
    channel_ = rpc::Channel::Connect(loop_, socket_, {});
  }
  return std::make_unique<PinnedCall>(
      channel_, method, std::move(request), deadline,
      [this, done = std::move(done), used = channel_.get()](const rpc::Status& status,
                                                            std::string response) {
        if (status.ok()) return done(std::move(response));
        if (status.code == rpc::StatusCode::kUnavailable && channel_.get() == used) lost_ = true;
        done(Error(ToCode(status.code), rpc::ToString(status)));
      });
}

}  // namespace tenon::cri
