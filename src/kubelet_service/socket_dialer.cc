#include "kubelet_service/socket_dialer.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/errno_error.h"
#include "base/strings.h"
#include "kubelet_service/plugin_client.h"
#include "loop/unix_socket.h"
#include "rpc/channel.h"

namespace tenon::kubelet_service {
namespace {

constexpr base::Duration kRetryDelay = std::chrono::milliseconds(50);

/// Errors: kNotFound when there is nothing.
Result<void> CheckSocket(const std::string& path) {
  struct stat st;
  if (::lstat(path.c_str(), &st) != 0) return base::ErrnoError("lstat", path);
  if (!S_ISSOCK(st.st_mode)) return Error(Code::kInvalidArgument, path + " is not a socket");
  if (st.st_uid != 0 && st.st_uid != ::geteuid())
    return Error(Code::kPermissionDenied,
                 fmt::format("{} belongs to user {}, who is neither root nor the user of this "
                             "process ({})",
                             path, st.st_uid, ::geteuid()));
  return {};
}

/// Whether a plugin that has not begun to listen may be the reason.
bool MayPass(int os_errno) {
  return os_errno == ENOENT || os_errno == ECONNREFUSED || os_errno == EAGAIN;
}

class DialCall final : public manager::PluginCall {
 public:
  DialCall(loop::EventLoop& loop, std::string path, const SocketDialer::Options& options,
           base::Duration limit, manager::PluginDialer::Done done)
      : loop_(loop), path_(std::move(path)), options_(options), done_(std::move(done)) {
    limit_ = loop_.timers().After(limit, [this] {
      End(Error(Code::kDeadlineExceeded, "context deadline exceeded", last_errno_));
    });
    Retry({});
  }

 private:
  void Retry(base::Duration delay) {
    next_ = loop_.timers().After(delay, [this] { Try(); });
  }

  void Try() {
    Result<void> checked = options_.any_endpoint ? Result<void>() : CheckSocket(path_);
    if (!checked) return OnFailure(std::move(checked).error());
    Result<base::UniqueFd> socket = loop::ConnectUnix(path_);
    if (!socket) return OnFailure(std::move(socket).error());
    last_errno_ = 0;
    // The time that is left is limit_'s to watch.
    channel_ = rpc::Channel::FromSocket(loop_, *std::move(socket),
                                        {.max_response_bytes = options_.max_response_bytes});
    channel_->OnConnected([this](const rpc::Status& status) {
      // Whoever accepted and hung up may be a plugin that is being replaced.
      if (!status.ok()) return Retry(kRetryDelay);
      End(std::unique_ptr<manager::PluginClient>(
          std::make_unique<RpcPluginClient>(std::move(channel_))));
    });
  }

  void OnFailure(Error error) {
    if (!MayPass(error.os_errno())) return End(std::move(error));
    last_errno_ = error.os_errno();
    Retry(kRetryDelay);
  }

  void End(Result<std::unique_ptr<manager::PluginClient>> result) {
    limit_.Cancel();
    next_.Cancel();
    auto done = std::exchange(done_, nullptr);
    done(std::move(result));
  }

  loop::EventLoop& loop_;
  const std::string path_;
  const SocketDialer::Options options_;
  manager::PluginDialer::Done done_;
  int last_errno_ = 0;
  std::unique_ptr<rpc::Channel> channel_;
  loop::TimerHandle limit_;
  loop::TimerHandle next_;
};

}  // namespace

std::unique_ptr<manager::PluginCall> SocketDialer::Dial(const std::string& endpoint,
                                                        base::Duration limit, Done done) {
  std::string path = base::JoinPath(directory_, endpoint);
  if (options_.any_endpoint) path = std::filesystem::path(path).lexically_normal();
  return std::make_unique<DialCall>(loop_, std::move(path), options_, limit, std::move(done));
}

}  // namespace tenon::kubelet_service
