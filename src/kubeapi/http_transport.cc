#include "kubeapi/http_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/check.h"

namespace tenon::kubeapi {
namespace {

class CurlTransport;

/// How idle a connection may be before it is probed: a watch hears nothing for minutes.
constexpr long kKeepAliveSeconds = 30;
constexpr long kKeepAliveEverySeconds = 15;

curl_blob Blob(const std::string& text) {
  return {.data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_COPY};
}

long Milliseconds(base::Duration duration) {
  return static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

Code CodeOf(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return Code::kDeadlineExceeded;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
      return Code::kFailedPrecondition;
    default:
      return Code::kUnavailable;
  }
}

class CurlCall final : public HttpCall {
 public:
  CurlCall(CurlTransport& transport, uint64_t id, HttpRequest request, HttpTransport::DoneFn done)
      : transport_(transport), id_(id), request_(std::move(request)), done_(std::move(done)) {}
  ~CurlCall() override;

  /// Hands the exchange to curl. Errors: an option that curl refuses.
  CURLcode Begin(CURLM* multi);
  /// Passes on what has come for on_bytes; may end or destroy the call.
  void Deliver();
  /// Ends the call; may destroy it.
  void Finish(CURLcode code);

  const CURL* easy() const { return easy_; }
  bool has_bytes() const { return !pending_.empty(); }
  loop::TimerHandle& failure() { return failure_; }

 private:
  static size_t OnWrite(char* bytes, size_t one, size_t count, void* self);
  static size_t OnHeader(char* bytes, size_t one, size_t count, void* self);
  size_t Take(std::string_view bytes);
  /// Sets an option of curl unless one has failed before. In parentheses it is the function, not
  /// the macro that wants to know the option when it compiles.
  template <class T>
  void Set(CURLoption option, T value) {
    if (set_ == CURLE_OK) set_ = (curl_easy_setopt)(easy_, option, value);
  }
  void SetOptions();
  void SetTls();
  void SetBody();
  void Detach();
  void End(Result<HttpAnswer> result);
  int Status() const;

  CurlTransport& transport_;
  const uint64_t id_;
  const HttpRequest request_;
  HttpTransport::DoneFn done_;
  CURL* easy_ = nullptr;
  CURLcode set_ = CURLE_OK;
  CURLM* multi_ = nullptr;
  curl_slist* headers_ = nullptr;
  curl_slist* connect_to_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  HttpAnswer answer_;
  std::string pending_;  ///< For on_bytes: curl may not be called from within its own callbacks.
  bool too_long_ = false;
  loop::TimerHandle failure_;  ///< Leaves Start() before its failure is told.
};

class CurlTransport final : public HttpTransport {
 public:
  explicit CurlTransport(loop::EventLoop& loop) : loop_(loop) {}
  ~CurlTransport() override;
  bool Init();

  std::unique_ptr<HttpCall> Start(HttpRequest request, DoneFn done) override;

  /// The call with this id, or null when it has ended or is destroyed.
  CurlCall* Find(uint64_t id) const {
    auto entry = calls_.find(id);
    return entry == calls_.end() ? nullptr : entry->second;
  }
  void Forget(uint64_t id) { calls_.erase(id); }

 private:
  static int OnSocket(CURL* easy, curl_socket_t fd, int what, void* self, void* socket);
  static int OnTimer(CURLM* multi, long timeout_ms, void* self);
  bool WatchSocket(curl_socket_t fd, int what);
  void Act(curl_socket_t fd, int events);
  void Deliver();

  loop::EventLoop& loop_;
  CURLM* multi_ = nullptr;
  uint64_t next_id_ = 0;
  std::map<uint64_t, CurlCall*> calls_;
  std::map<curl_socket_t, loop::FdWatch> sockets_;
  loop::TimerHandle timer_;
};

CurlCall::~CurlCall() {
  Detach();
}

void CurlCall::Detach() {
  transport_.Forget(id_);
  if (multi_ != nullptr) curl_multi_remove_handle(std::exchange(multi_, nullptr), easy_);
  curl_easy_cleanup(std::exchange(easy_, nullptr));
  curl_slist_free_all(std::exchange(headers_, nullptr));
  curl_slist_free_all(std::exchange(connect_to_, nullptr));
}

CURLcode CurlCall::Begin(CURLM* multi) {
  easy_ = curl_easy_init();
  if (easy_ == nullptr) return CURLE_OUT_OF_MEMORY;
  SetOptions();
  SetTls();
  SetBody();
  if (set_ != CURLE_OK) return set_;
  if (curl_multi_add_handle(multi, easy_) != CURLM_OK) return CURLE_FAILED_INIT;
  multi_ = multi;
  return CURLE_OK;
}

void CurlCall::SetOptions() {
  Set(CURLOPT_ERRORBUFFER, error_text_.data());
  Set(CURLOPT_NOSIGNAL, 1L);
  Set(CURLOPT_PROTOCOLS_STR, "http,https");
  Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  Set(CURLOPT_URL, request_.url.c_str());
  Set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  Set(CURLOPT_WRITEFUNCTION, &CurlCall::OnWrite);
  Set(CURLOPT_WRITEDATA, this);
  Set(CURLOPT_HEADERFUNCTION, &CurlCall::OnHeader);
  Set(CURLOPT_HEADERDATA, this);
  Set(CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(request_.connect_limit));
  Set(CURLOPT_TIMEOUT_MS, Milliseconds(request_.limit));
  Set(CURLOPT_TCP_KEEPALIVE, 1L);
  Set(CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
  Set(CURLOPT_TCP_KEEPINTVL, kKeepAliveEverySeconds);
  if (!request_.proxy_url.empty()) Set(CURLOPT_PROXY, request_.proxy_url.c_str());
  if (request_.no_proxy) Set(CURLOPT_NOPROXY, "*");
  if (!request_.connect_to.empty()) {
    connect_to_ = curl_slist_append(nullptr, ("::" + request_.connect_to).c_str());
    Set(CURLOPT_CONNECT_TO, connect_to_);
  }
}

void CurlCall::SetTls() {
  const TlsOptions& tls = request_.tls;
  if (!tls.authority.empty()) {
    curl_blob authority = Blob(tls.authority);
    Set(CURLOPT_CAINFO_BLOB, &authority);
    // The system's directory of authorities would be trusted beside it.
    Set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
  }
  if (!tls.certificate.empty()) {
    curl_blob certificate = Blob(tls.certificate);
    curl_blob key = Blob(tls.key);
    Set(CURLOPT_SSLCERT_BLOB, &certificate);
    Set(CURLOPT_SSLKEY_BLOB, &key);
  }
}

void CurlCall::SetBody() {
  for (const std::string& header : request_.headers)
    headers_ = curl_slist_append(headers_, header.c_str());
  headers_ = curl_slist_append(headers_, "Expect:");  // Nobody is asked whether a body may come.
  Set(CURLOPT_HTTPHEADER, headers_);
  if (request_.body.empty()) return;
  Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  Set(CURLOPT_POSTFIELDS, request_.body.data());
}

int CurlCall::Status() const {
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

size_t CurlCall::OnWrite(char* bytes, size_t one, size_t count, void* self) {
  return static_cast<CurlCall*>(self)->Take({bytes, one * count});
}

size_t CurlCall::Take(std::string_view bytes) {
  if (request_.on_bytes && Status() / 100 == 2) {
    pending_ += bytes;
    return bytes.size();
  }
  if (answer_.body.size() + bytes.size() > request_.max_body_bytes) {
    too_long_ = true;
    return 0;  // Ends the transfer.
  }
  answer_.body += bytes;
  return bytes.size();
}

size_t CurlCall::OnHeader(char* bytes, size_t one, size_t count, void* self) {
  constexpr std::string_view kRetryAfter = "retry-after:";
  std::string_view line(bytes, one * count);
  auto* call = static_cast<CurlCall*>(self);
  if (line.starts_with("HTTP/")) call->answer_.retry_after.clear();  // Of an interim answer.
  if (line.size() > kRetryAfter.size() &&
      curl_strnequal(line.data(), kRetryAfter.data(), kRetryAfter.size()) != 0) {
    line.remove_prefix(kRetryAfter.size());
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const size_t end = std::min(line.find_first_of("\r\n"), line.size());
    call->answer_.retry_after = line.substr(begin, end - begin);
  }
  return one * count;
}

void CurlCall::Deliver() {
  const auto on_bytes = request_.on_bytes;  // It may destroy this.
  CurlTransport& transport = transport_;
  const uint64_t id = id_;
  Result<void> taken = on_bytes(std::exchange(pending_, {}));
  if (!taken && transport.Find(id) == this) End(std::move(taken).error());
}

void CurlCall::End(Result<HttpAnswer> result) {
  Detach();
  const auto done = std::move(done_);  // It may destroy this.
  done(std::move(result));
}

void CurlCall::Finish(CURLcode code) {
  if (code == CURLE_OK) {
    answer_.status = Status();
    return End(std::move(answer_));
  }
  if (too_long_) {
    return End(
        Error(Code::kResourceExhausted,
              "the answer is longer than " + std::to_string(request_.max_body_bytes) + " bytes"));
  }
  End(Error(CodeOf(code), error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code)));
}

bool CurlTransport::Init() {
  multi_ = curl_multi_init();
  if (multi_ == nullptr) return false;
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlTransport::OnSocket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlTransport::OnTimer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  return true;
}

CurlTransport::~CurlTransport() {
  TENON_CHECK(calls_.empty());
  if (multi_ != nullptr) curl_multi_cleanup(multi_);
  curl_global_cleanup();
}

std::unique_ptr<HttpCall> CurlTransport::Start(HttpRequest request, DoneFn done) {
  const uint64_t id = ++next_id_;
  auto call = std::make_unique<CurlCall>(*this, id, std::move(request), std::move(done));
  calls_[id] = call.get();
  if (CURLcode code = call->Begin(multi_); code != CURLE_OK) {
    call->failure() = loop_.timers().After(base::Duration::zero(),
                                           [begun = call.get(), code] { begun->Finish(code); });
  }
  return call;
}

int CurlTransport::OnSocket(CURL* /*easy*/, curl_socket_t fd, int what, void* self,
                            void* /*socket*/) {
  return static_cast<CurlTransport*>(self)->WatchSocket(fd, what) ? 0 : -1;
}

bool CurlTransport::WatchSocket(curl_socket_t fd, int what) {
  if (what == CURL_POLL_REMOVE) {
    sockets_.erase(fd);
    return true;
  }
  const unsigned events = ((what & CURL_POLL_IN) != 0 ? loop::kReadable : 0U) |
                          ((what & CURL_POLL_OUT) != 0 ? loop::kWritable : 0U);
  if (auto entry = sockets_.find(fd); entry != sockets_.end()) {
    entry->second.SetEvents(events);
    return true;
  }
  auto watch = loop_.WatchFd(fd, events, [this, fd](unsigned ready) {
    // Of a connection that failed curl finds out itself.
    const bool failed = (ready & loop::kHangup) != 0;
    Act(fd, failed ? 0
                   : ((ready & loop::kReadable) != 0 ? CURL_CSELECT_IN : 0) |
                         ((ready & loop::kWritable) != 0 ? CURL_CSELECT_OUT : 0));
  });
  if (!watch) return false;
  sockets_[fd] = *std::move(watch);
  return true;
}

int CurlTransport::OnTimer(CURLM* /*multi*/, long timeout_ms, void* self) {
  auto* transport = static_cast<CurlTransport*>(self);
  transport->timer_.Cancel();
  if (timeout_ms >= 0) {
    transport->timer_ =
        transport->loop_.timers().After(std::chrono::milliseconds(timeout_ms),
                                        [transport] { transport->Act(CURL_SOCKET_TIMEOUT, 0); });
  }
  return 0;
}

void CurlTransport::Act(curl_socket_t fd, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, events, &running);
  Deliver();
}

void CurlTransport::Deliver() {
  std::vector<uint64_t> with_bytes;
  for (const auto& [id, call] : calls_) {
    if (call->has_bytes()) with_bytes.push_back(id);
  }
  std::vector<std::pair<uint64_t, CURLcode>> ended;
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    const CURLcode code = message->data.result;
    const auto call = std::ranges::find_if(calls_, [message](const auto& entry) {
      return entry.second->easy() == message->easy_handle;
    });
    if (call != calls_.end()) ended.emplace_back(call->first, code);
  }
  // From here on callbacks run, and any call may be gone when its turn comes.
  for (const uint64_t id : with_bytes) {
    if (CurlCall* call = Find(id)) call->Deliver();
  }
  for (const auto& [id, code] : ended) {
    if (CurlCall* call = Find(id)) call->Finish(code);
  }
}

}  // namespace

Result<std::unique_ptr<HttpTransport>> HttpTransport::Create(loop::EventLoop& loop) {
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return Error(Code::kInternal, "libcurl does not start");
  auto transport = std::make_unique<CurlTransport>(loop);
  if (!transport->Init()) return Error(Code::kResourceExhausted, "libcurl does not start");
  return std::unique_ptr<HttpTransport>(std::move(transport));
}

}  // namespace tenon::kubeapi
