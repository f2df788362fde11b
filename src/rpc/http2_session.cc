#include "rpc/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "rpc/grpc_text.h"

namespace tenon::rpc {
namespace {

constexpr uint32_t kStreamWindow = 1U << 20U;
constexpr int32_t kConnectionWindow = 4 << 20;
constexpr uint32_t kMaxHeaderBytes = 16U << 10U;
/// RFC 9113 §6.5.2: what a header counts beside its text.
constexpr size_t kHeaderOverhead = 32;
/// grpc-go sends a PING for each round trip in which data comes, so this must not be small. Every
/// frame that carries something, and time, begin the count anew.
constexpr size_t kMaxIdleFrames = 1000;
/// More than a burst of requests with all the headers that they may have.
constexpr size_t kMaxIdleBytes = size_t{4} << 20;
/// No block of headers is that long unless it was made to unfold: a frame of 16 KiB can stand for
/// 64 MiB of headers, and all of them have to be gone through to keep the decoder in step.
constexpr size_t kMaxUnfoldedHeaders = size_t{1} << 20;
/// Resets: a burst of 256, then 33 a second. A client with max_streams calls in flight may give
/// them all up twice over.
constexpr uint64_t kResetBurst = 256;
constexpr uint64_t kResetsPerSecond = 33;
/// Frames that wait for a peer that sends but does not read.
constexpr size_t kMaxQueuedFrames = 1000;

constexpr size_t kMaxDebugBytes = 256;

uint8_t* Bytes(std::string_view text) {
  return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(text.data()));
}

/// Requires: `name` is a literal (it is not copied).
nghttp2_nv Header(std::string_view name, std::string_view value) {
  return {Bytes(name), Bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

std::string_view Text(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// grpc-status and, if there is one, grpc-message. Owns the text that headers() points to.
class StatusHeaders final {
 public:
  explicit StatusHeaders(const Status& status)
      : code_(std::to_string(static_cast<int>(status.code))),
        message_(PercentEncode(status.message)) {}
  void AppendTo(std::vector<nghttp2_nv>& headers) const {
    headers.push_back(Header("grpc-status", code_));
    if (!message_.empty()) headers.push_back(Header("grpc-message", message_));
  }

 private:
  const std::string code_;
  const std::string message_;
};

}  // namespace

struct Http2Session::Engine {
  nghttp2_session* raw = nullptr;

  explicit Engine(Http2Session& session);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() { nghttp2_session_del(raw); }
  static void SetCallbacks(nghttp2_session_callbacks* callbacks);
  static void SetLimits(nghttp2_option* option, Side side);
  void SubmitSettings(const Options& options) const;

  Http2Stream* StreamOf(int32_t id) const {
    return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(raw, id));
  }
  nghttp2_data_provider BodyOf(Http2Stream& stream) const {
    return {.source = {.ptr = &stream}, .read_callback = ReadBody};
  }

  static Http2Session& Self(void* user) { return *static_cast<Http2Session*>(user); }
  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user);
  // NOLINTNEXTLINE(readability-function-size): nghttp2 sets the parameters.
  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* user);
  static int OnBeginFrame(nghttp2_session*, const nghttp2_frame_hd* head, void* user);
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int OnBytes(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size,
                     void* user);
  static int OnStreamClose(nghttp2_session*, int32_t id, uint32_t error, void* user);
  static int OnFrameSent(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int OnError(nghttp2_session*, int, const char* text, size_t size, void* user);
  // NOLINTNEXTLINE(readability-function-size): nghttp2 sets the parameters.
  static ssize_t ReadBody(nghttp2_session*, int32_t id, uint8_t*, size_t room, uint32_t* flags,
                          nghttp2_data_source* source, void* user);
  static int SendBody(nghttp2_session*, nghttp2_frame* frame, const uint8_t* head, size_t length,
                      nghttp2_data_source* source, void* user);
};

// A failure to allocate is all that can go wrong in the set-up.
Http2Session::Engine::Engine(Http2Session& session) {
  nghttp2_session_callbacks* callbacks = nullptr;
  TENON_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
  SetCallbacks(callbacks);
  nghttp2_option* option = nullptr;
  TENON_CHECK(nghttp2_option_new(&option) == 0);
  SetLimits(option, session.options_.side);
  int result = session.options_.side == Side::kServer
                   ? nghttp2_session_server_new2(&raw, callbacks, &session, option)
                   : nghttp2_session_client_new2(&raw, callbacks, &session, option);
  TENON_CHECK(result == 0);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  SubmitSettings(session.options_);
}

void Http2Session::Engine::SetCallbacks(nghttp2_session_callbacks* callbacks) {
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, OnBeginHeaders);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
  nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, OnBeginFrame);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, OnFrame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, OnBytes);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, OnStreamClose);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, OnFrameSent);
  nghttp2_session_callbacks_set_error_callback2(callbacks, OnError);
  nghttp2_session_callbacks_set_send_data_callback(callbacks, SendBody);
}

void Http2Session::Engine::SetLimits(nghttp2_option* option, Side side) {
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_max_reserved_remote_streams(option, 0);
  nghttp2_option_set_max_outbound_ack(option, kMaxQueuedFrames);
  nghttp2_option_set_stream_reset_rate_limit(option, kResetBurst, kResetsPerSecond);
  // Kubelets before 1.23 put the raw socket path into :authority, for which nghttp2 would reset
  // the stream. The price: what else it checks about requests is checked by IncomingCall.
  if (side == Side::kServer) nghttp2_option_set_no_http_messaging(option, 1);
}

void Http2Session::Engine::SubmitSettings(const Options& options) const {
  std::vector<nghttp2_settings_entry> settings = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMaxHeaderBytes},
  };
  if (options.side == Side::kServer) {
    settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
                        static_cast<uint32_t>(std::max(1, options.max_streams))});
  } else {
    settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  }
  TENON_CHECK(nghttp2_submit_settings(raw, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) ==
              0);
  TENON_CHECK(nghttp2_session_set_local_window_size(raw, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) ==
              0);
}

int Http2Session::Engine::OnBeginHeaders(nghttp2_session* raw, const nghttp2_frame* frame,
                                         void* user) {
  Http2Session& self = Self(user);
  int32_t id = frame->hd.stream_id;
  // The other kind is the promise of a push, before the client's refusal of those took effect.
  if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
    std::unique_ptr<Http2Stream> stream = self.events_.OnRequest();
    stream->id_ = id;
    nghttp2_session_set_stream_user_data(raw, id, stream.get());
    self.streams_[id] = std::move(stream);
  }
  return 0;
}

// NOLINTNEXTLINE(readability-function-size): nghttp2 sets the parameters.
int Http2Session::Engine::OnHeader(nghttp2_session*, const nghttp2_frame* frame,
                                   const uint8_t* name, size_t name_size, const uint8_t* value,
                                   size_t value_size, uint8_t, void* user) {
  Http2Session& self = Self(user);
  Http2Stream* stream = self.engine_->StreamOf(frame->hd.stream_id);
  if (stream == nullptr) return 0;
  bool fitted = stream->header_bytes_ <= kMaxHeaderBytes;
  stream->header_bytes_ += name_size + value_size + kHeaderOverhead;
  if (stream->header_bytes_ <= kMaxHeaderBytes) {
    stream->OnHeader(Text(name, name_size), Text(value, value_size));
  } else if (fitted) {
    self.Reset(*stream, kEnhanceYourCalm);
  } else if (stream->header_bytes_ > kMaxUnfoldedHeaders) {
    self.complaint_ = "headers that unfold without end";
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  return 0;
}

int Http2Session::Engine::OnBeginFrame(nghttp2_session*, const nghttp2_frame_hd* head, void* user) {
  Http2Session& self = Self(user);
  if (head->type == NGHTTP2_DATA && head->length > 0) {
    self.ForgetIdleness();
    return 0;
  }
  if (++self.idle_frames_ <= kMaxIdleFrames) return 0;
  self.complaint_ = "too many frames that carry nothing";
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int Http2Session::Engine::OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  Http2Session& self = Self(user);
  bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  switch (frame->hd.type) {
    case NGHTTP2_SETTINGS:
      if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) self.events_.OnPeerReady();
      return 0;
    case NGHTTP2_GOAWAY:
      self.peer_goaway_ =
          "code: " + Http2ErrorName(frame->goaway.error_code) + ", debug data: \"" +
          base::EscapeForLine(Text(frame->goaway.opaque_data,
                                   std::min(frame->goaway.opaque_data_len, kMaxDebugBytes))) +
          '"';
      return 0;
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
      break;
    default:
      return 0;
  }
  Http2Stream* stream = self.engine_->StreamOf(frame->hd.stream_id);
  if (stream == nullptr || stream->header_bytes_ > kMaxHeaderBytes) return 0;
  stream->peer_ended_ = last;
  if (frame->hd.type == NGHTTP2_HEADERS) stream->OnHeadersEnd(last);
  if (last) stream->OnEnd();
  return 0;
}

int Http2Session::Engine::OnBytes(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes,
                                  size_t size, void* user) {
  if (Http2Stream* stream = Self(user).engine_->StreamOf(id); stream != nullptr)
    stream->OnBytes(Text(bytes, size));
  return 0;
}

int Http2Session::Engine::OnStreamClose(nghttp2_session*, int32_t id, uint32_t error, void* user) {
  Http2Session& self = Self(user);
  auto entry = self.streams_.find(id);
  if (entry == self.streams_.end()) return 0;
  std::unique_ptr<Http2Stream> stream = std::move(entry->second);
  self.streams_.erase(entry);
  stream->OnClosed(error);
  return 0;
}

int Http2Session::Engine::OnFrameSent(nghttp2_session* raw, const nghttp2_frame* frame,
                                      void* user) {
  Http2Session& self = Self(user);
  if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) self.ForgetIdleness();
  if (frame->hd.type != NGHTTP2_HEADERS || self.options_.side != Side::kServer) return 0;
  if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  // RFC 9113 §8.1: an answer that came before the end of its request asks for no more of it.
  Http2Stream* stream = self.engine_->StreamOf(frame->hd.stream_id);
  if (stream != nullptr && !stream->peer_ended_)
    nghttp2_submit_rst_stream(raw, NGHTTP2_FLAG_NONE, frame->hd.stream_id, kNoError);
  return 0;
}

int Http2Session::Engine::OnError(nghttp2_session*, int, const char* text, size_t size,
                                  void* user) {
  Self(user).complaint_.assign(text, size);
  return 0;
}

// NOLINTNEXTLINE(readability-function-size): nghttp2 sets the parameters.
ssize_t Http2Session::Engine::ReadBody(nghttp2_session* raw, int32_t id, uint8_t*, size_t room,
                                       uint32_t* flags, nghttp2_data_source* source, void* user) {
  auto& stream = *static_cast<Http2Stream*>(source->ptr);
  size_t left =
      stream.body_ ? kMessagePrefixSize + stream.body_->size() - stream.body_sent_ : size_t{0};
  if (left == 0 && !stream.trailers_) return NGHTTP2_ERR_DEFERRED;
  size_t length = std::min(left, room);
  if (length > 0) *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (length < left) return static_cast<ssize_t>(length);
  if (Self(user).options_.side == Side::kClient) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
  } else if (stream.trailers_) {
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    StatusHeaders status(*stream.trailers_);
    std::vector<nghttp2_nv> headers;
    status.AppendTo(headers);
    nghttp2_submit_trailer(raw, id, headers.data(), headers.size());
  }
  return static_cast<ssize_t>(length);
}

int Http2Session::Engine::SendBody(nghttp2_session*, nghttp2_frame* frame, const uint8_t* head,
                                   size_t length, nghttp2_data_source* source, void* user) {
  constexpr size_t kFrameHeadSize = 9;
  Http2Session& self = Self(user);
  OutputQueue& output = *self.output_;
  if (output.size() >= self.output_limit_) return NGHTTP2_ERR_WOULDBLOCK;
  auto& stream = *static_cast<Http2Stream*>(source->ptr);
  output.Append(Text(head, kFrameHeadSize));
  if (stream.body_sent_ < kMessagePrefixSize) {
    std::string_view prefix(stream.prefix_.data(), stream.prefix_.size());
    std::string_view part = prefix.substr(stream.body_sent_, length);
    output.Append(part);
    stream.body_sent_ += part.size();
    length -= part.size();
  }
  if (length > 0) output.AppendShared(stream.body_, stream.body_sent_ - kMessagePrefixSize, length);
  stream.body_sent_ += length;
  if (stream.body_sent_ == kMessagePrefixSize + stream.body_->size()) {
    stream.body_.reset();
    output.MarkMessageEnd(frame->hd.stream_id);
  }
  return 0;
}

Http2Session::Http2Session(const Options& options, Events& events)
    : options_(options), events_(events), engine_(std::make_unique<Engine>(*this)) {}

Http2Session::~Http2Session() = default;

std::optional<std::string> Http2Session::Feed(std::string_view bytes) {
  idle_bytes_ += bytes.size();
  ssize_t taken = nghttp2_session_mem_recv(engine_->raw, Bytes(bytes), bytes.size());
  if (taken < 0) {
    if (complaint_.empty()) complaint_ = nghttp2_strerror(static_cast<int>(taken));
    return complaint_;
  }
  if (idle_bytes_ > kMaxIdleBytes) return "too many bytes that carry nothing";
  // A client's queue holds calls of its own.
  if (options_.side == Side::kServer &&
      nghttp2_session_get_outbound_queue_size(engine_->raw) > kMaxQueuedFrames)
    return "the peer sends but does not read";
  return std::nullopt;
}

std::optional<std::string> Http2Session::Produce(OutputQueue& output, size_t limit) {
  output_ = &output;
  output_limit_ = limit;
  while (output.size() < limit) {
    const uint8_t* bytes = nullptr;
    size_t before = output.size();
    ssize_t size = nghttp2_session_mem_send(engine_->raw, &bytes);
    if (size < 0) return nghttp2_strerror(static_cast<int>(size));
    if (size == 0 && output.size() == before) break;
    output.Append(Text(bytes, static_cast<size_t>(size)));
  }
  return std::nullopt;
}

bool Http2Session::finished() const {
  return nghttp2_session_want_read(engine_->raw) == 0 &&
         nghttp2_session_want_write(engine_->raw) == 0;
}

Http2Stream* Http2Session::StartRequest(std::unique_ptr<Http2Stream> stream, std::string_view path,
                                        base::Duration timeout, std::string body) {
  std::string timeout_text = FormatTimeout(timeout);
  std::vector<nghttp2_nv> headers = {
      Header(":method", "POST"),
      Header(":scheme", "http"),
      Header(":path", path),
      Header(":authority", "localhost"),
      Header("content-type", "application/grpc"),
      Header("user-agent", "tenon/" TENON_VERSION),
      Header("te", "trailers"),
  };
  if (timeout > base::Duration::zero()) headers.push_back(Header("grpc-timeout", timeout_text));
  stream->prefix_ = MessagePrefix(body.size());
  stream->body_ = std::make_shared<const std::string>(std::move(body));
  stream->headers_sent_ = true;
  nghttp2_data_provider provider = engine_->BodyOf(*stream);
  stream->id_ = nghttp2_submit_request(engine_->raw, nullptr, headers.data(), headers.size(),
                                       &provider, stream.get());
  if (stream->id_ < 0) return nullptr;
  auto entry = streams_.emplace(stream->id_, std::move(stream)).first;
  return entry->second.get();
}

void Http2Session::SendMessage(Http2Stream& stream, std::shared_ptr<const std::string> body) {
  TENON_CHECK(!stream.sending());
  stream.prefix_ = MessagePrefix(body->size());
  stream.body_ = std::move(body);
  stream.body_sent_ = 0;
  if (std::exchange(stream.headers_sent_, true)) {
    nghttp2_session_resume_data(engine_->raw, stream.id_);
    return;
  }
  std::array headers = {Header(":status", "200"), Header("content-type", "application/grpc")};
  nghttp2_data_provider provider = engine_->BodyOf(stream);
  nghttp2_submit_response(engine_->raw, stream.id_, headers.data(), headers.size(), &provider);
}

void Http2Session::SendTrailers(Http2Stream& stream, Status status, std::string_view http_status) {
  if (std::exchange(stream.headers_sent_, true)) {
    stream.trailers_ = std::move(status);
    nghttp2_session_resume_data(engine_->raw, stream.id_);
    return;
  }
  std::vector<nghttp2_nv> headers = {Header(":status", http_status),
                                     Header("content-type", "application/grpc")};
  if (status.code == StatusCode::kUnimplemented)
    headers.push_back(Header("grpc-accept-encoding", "identity"));
  StatusHeaders trailers(status);
  trailers.AppendTo(headers);
  nghttp2_submit_response(engine_->raw, stream.id_, headers.data(), headers.size(), nullptr);
}

void Http2Session::Reset(Http2Stream& stream, uint32_t error) {
  nghttp2_submit_rst_stream(engine_->raw, NGHTTP2_FLAG_NONE, stream.id_, error);
}

void Http2Session::GoAway(uint32_t error) {
  nghttp2_submit_goaway(engine_->raw, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(engine_->raw), error, nullptr, 0);
}

void Http2Session::AnnounceGoAway() {
  nghttp2_submit_shutdown_notice(engine_->raw);
}

void Http2Session::NotifyWritten(int32_t stream) {
  if (auto entry = streams_.find(stream); entry != streams_.end())
    entry->second->OnMessageWritten();
}

}  // namespace tenon::rpc
