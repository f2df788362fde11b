#include "admin/http_client.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "admin/http_reader.h"
#include "base/errno_error.h"
#include "loop/unix_socket.h"

namespace tenon::admin {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;

std::string Render(const HttpRequest& request) {
  std::string out = request.method + " " + FormatTarget(request) + " HTTP/1.1\r\n";
  out += "Host: localhost\r\nConnection: close\r\n";
  for (const auto& [name, value] : request.headers)
    out.append(name).append(": ").append(value).append("\r\n");
  if (!request.body.empty())
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  return out + "\r\n" + request.body;
}

class SocketFetch final : public HttpFetch {
 public:
  SocketFetch(loop::EventLoop& loop, std::string path, const HttpRequest& request,
              const Options& options, DoneFn done)
      : loop_(loop),
        path_(std::move(path)),
        done_(std::move(done)),
        output_(Render(request)),
        reader_(request.method == "HEAD" ? HttpReader::Kind::kHeadResponse
                                         : HttpReader::Kind::kResponse,
                {.body_bytes = options.max_body_bytes}) {
    deadline_ = loop_.timers().After(options.deadline, [this] {
      Finish(Error(Code::kDeadlineExceeded, path_ + ": no answer in time"));
    });
  }

  /// Connects; what fails is told in the next turn.
  void Connect() {
    auto connected = Open();
    if (connected) return;
    deadline_ = loop_.timers().After(base::Duration::zero(),
                                     [this, error = connected.error()] { Finish(error); });
  }

 private:
  Result<void> Open() {
    TENON_TRY(fd_, loop::ConnectUnix(path_));
    TENON_TRY(watch_, loop_.WatchFd(fd_.get(), loop::kReadable | loop::kWritable,
                                    [this](unsigned events) { OnEvents(events); }));
    return {};
  }

  void OnEvents(unsigned events) {
    if ((events & loop::kWritable) != 0) Write();
    if ((events & (loop::kReadable | loop::kHangup)) != 0) Read();
  }

  void Write() {
    ssize_t sent = ::send(fd_.get(), output_.data(), output_.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // A server that refuses a request early stops reading it; its answer is there all the same.
    output_.erase(0, sent < 0 ? output_.size() : static_cast<size_t>(sent));
    if (output_.empty()) watch_.SetEvents(loop::kReadable);
  }

  void Read() {
    std::array<char, kReadBytes> buffer;
    ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0) return Finish(base::ErrnoError("read from", path_));
    if (got == 0) reader_.FeedEnd();
    std::string_view bytes(buffer.data(), static_cast<size_t>(got));
    while (!bytes.empty() && reading())
      bytes.remove_prefix(reader_.Feed(bytes));
    if (reader_.state() == HttpReader::State::kComplete) return Finish(reader_.TakeResponse());
    if (reader_.state() != HttpReader::State::kFailed) return;
    if (got == 0) return Finish(Error(Code::kUnavailable, path_ + ": the server went away"));
    Finish(Error(Code::kDataLoss, path_ + ": " + reader_.failure().text));
  }

  bool reading() const {
    return reader_.state() == HttpReader::State::kHead ||
           reader_.state() == HttpReader::State::kBody;
  }

  /// `done_` may destroy this object.
  void Finish(Result<HttpResponse> result) {
    watch_.Cancel();
    deadline_.Cancel();
    DoneFn done = std::move(done_);
    done(std::move(result));
  }

  loop::EventLoop& loop_;
  const std::string path_;
  DoneFn done_;
  std::string output_;
  HttpReader reader_;
  base::UniqueFd fd_;
  loop::TimerHandle deadline_;
  loop::FdWatch watch_;  // After fd_: ends before the descriptor is closed.
};

}  // namespace

std::unique_ptr<HttpFetch> HttpFetch::Start(loop::EventLoop& loop, const std::string& socket_path,
                                            const HttpRequest& request, Options options,
                                            DoneFn done) {
  auto fetch = std::make_unique<SocketFetch>(loop, socket_path, request, options, std::move(done));
  fetch->Connect();
  return fetch;
}

}  // namespace tenon::admin
