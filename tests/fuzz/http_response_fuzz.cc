// A response read whole and byte by byte, and then cut off, must end the same way.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "admin/http_reader.h"

namespace {

using tenon::admin::HttpReader;

bool Reading(const HttpReader& reader) {
  return reader.state() == HttpReader::State::kHead || reader.state() == HttpReader::State::kBody;
}

void FeedAll(HttpReader& reader, std::string_view bytes, size_t piece) {
  while (!bytes.empty() && Reading(reader))
    bytes.remove_prefix(reader.Feed(bytes.substr(0, piece)));
  if (Reading(reader)) reader.FeedEnd();
}

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const HttpReader::Limits limits{.head_bytes = 512, .body_bytes = 512};
  for (auto kind : {HttpReader::Kind::kResponse, HttpReader::Kind::kHeadResponse}) {
    HttpReader whole(kind, limits);
    HttpReader pieces(kind, limits);
    FeedAll(whole, bytes, size);
    FeedAll(pieces, bytes, 1);

    Require(!Reading(whole) && whole.state() == pieces.state());
    if (whole.state() != HttpReader::State::kComplete) continue;
    tenon::admin::HttpResponse a = whole.TakeResponse();
    tenon::admin::HttpResponse b = pieces.TakeResponse();
    Require(a.status == b.status && a.body == b.body && a.headers == b.headers);
  }
  return 0;
}
