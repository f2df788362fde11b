// A request read whole and byte by byte must end the same way, take the same bytes and hold the
// same request; what is formatted from its path and query must be parsed back.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "admin/http_reader.h"
#include "admin/tcp_address.h"

namespace {

using tenon::admin::HttpReader;

size_t FeedAll(HttpReader& reader, std::string_view bytes, size_t piece) {
  size_t taken = 0;
  while (taken < bytes.size() && (reader.state() == HttpReader::State::kHead ||
                                  reader.state() == HttpReader::State::kBody)) {
    taken += reader.Feed(bytes.substr(taken, piece));
  }
  return taken;
}

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const HttpReader::Limits limits{.head_bytes = 512, .body_bytes = 512};
  HttpReader whole(HttpReader::Kind::kRequest, limits);
  HttpReader pieces(HttpReader::Kind::kRequest, limits);
  size_t taken_whole = FeedAll(whole, bytes, size);
  size_t taken_pieces = FeedAll(pieces, bytes, 1);

  Require(whole.state() == pieces.state());
  if (whole.state() == HttpReader::State::kFailed) {
    Require(whole.failure().status >= 400 && !whole.failure().text.empty());
    return 0;
  }
  if (whole.state() != HttpReader::State::kComplete) return 0;
  Require(taken_whole == taken_pieces);
  tenon::admin::HttpRequest a = whole.TakeRequest();
  tenon::admin::HttpRequest b = pieces.TakeRequest();
  Require(a.method == b.method && a.path == b.path && a.query == b.query);
  Require(a.headers == b.headers && a.body == b.body);
  Require(tenon::admin::ParseTarget(FormatTarget(a), b));
  Require(a.path == b.path && a.query == b.query);
  tenon::admin::IsTrustedHost(a.headers["host"]);
  return 0;
}
