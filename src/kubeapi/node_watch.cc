#include "kubeapi/node_watch.h"

#include <algorithm>
#include <utility>

#include "kubeapi/api_error.h"

namespace tenon::kubeapi {
namespace {

/// A watch ends by itself after this and up to twice as long, so that those of many clients do not
/// end together, and credentials that expired are not used for ever.
constexpr uint64_t kWatchSeconds = 300;
/// What the server may need beyond that.
constexpr base::Duration kSlack = std::chrono::seconds(30);

std::string TextAt(const Value& value, std::initializer_list<std::string_view> keys) {
  const Value* found = value.At(keys);
  return found == nullptr ? "" : found->text();
}

/// It is put into a URL as it stands.
bool IsResourceVersion(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

}  // namespace

Result<WatchEvent> ParseWatchEvent(std::string_view line) {
  TENON_TRY(const Value top, ParseJson(line, "event"));
  const std::string type = TextAt(top, {"type"});
  const Value* object = top.Find("object");
  if (object == nullptr || !object->is_object())
    return Error(Code::kInvalidArgument, "an event of the watch has no object");
  WatchEvent event{.object = *object};
  if (type == "ERROR") {
    event.kind = WatchEvent::Kind::kError;
    return event;
  }
  event.resource_version = TextAt(*object, {"metadata", "resourceVersion"});
  if (!IsResourceVersion(event.resource_version))
    return Error(Code::kInvalidArgument, "an event of the watch has no resourceVersion");
  if (type == "DELETED") {
    event.kind = WatchEvent::Kind::kDeleted;
  } else if (type == "BOOKMARK") {
    event.kind = WatchEvent::Kind::kBookmark;
  } else if (type != "ADDED" && type != "MODIFIED") {
    return Error(Code::kInvalidArgument, "the watch has an event of an unknown type, " + type);
  }
  return event;
}

NodeWatch::NodeWatch(loop::EventLoop& loop, ApiClient& client, std::string name,
                     Callbacks callbacks, uint64_t seed, loop::Backoff::Options backoff)
    : loop_(loop),
      client_(client),
      name_(std::move(name)),
      callbacks_(std::move(callbacks)),
      seed_(seed),
      backoff_(backoff, seed) {
  timer_ = loop_.timers().After(base::Duration::zero(), [this] { Next(); });
}

void NodeWatch::Next() {
  resource_version_.empty() ? List() : Watch();
}

/// Only from here calls are replaced: never from within their own callbacks.
void NodeWatch::Pause() {
  timer_ = loop_.timers().After(backoff_.Next(), [this] { Next(); });
}

void NodeWatch::List() {
  call_ = client_.Send({.what = "list node " + name_,
                        .path = "/api/v1/nodes",
                        .query = "fieldSelector=metadata.name%3D" + name_},
                       [this](const ApiAnswer& answer) { OnList(answer); });
}

void NodeWatch::OnList(const ApiAnswer& answer) {
  if (!answer.object) {
    callbacks_.on_trouble(answer.object.error());
    return Pause();
  }
  const Value& list = *answer.object;
  const std::string version = TextAt(list, {"metadata", "resourceVersion"});
  const Value* items = list.Find("items");
  if (!IsResourceVersion(version)) {
    callbacks_.on_trouble(Error(Code::kInvalidArgument,
                                "list node " + name_ + ": the answer has no resourceVersion"));
    return Pause();
  }
  resource_version_ = version;
  const bool found = items != nullptr && !items->items().empty();
  callbacks_.on_change(found ? &items->items().front() : nullptr);
  timer_ = loop_.timers().After(base::Duration::zero(), [this] { Next(); });
}

void NodeWatch::Watch() {
  seed_ = seed_ * 6364136223846793005U + 1442695040888963407U;
  const uint64_t seconds = kWatchSeconds + (seed_ >> 33U) % kWatchSeconds;
  call_ =
      client_.Send({.what = "watch node " + name_,
                    .path = "/api/v1/nodes",
                    .query = "watch=1&fieldSelector=metadata.name%3D" + name_ +
                             "&resourceVersion=" + resource_version_ +
                             "&allowWatchBookmarks=true&timeoutSeconds=" + std::to_string(seconds),
                    .limit = std::chrono::seconds(seconds) + kSlack,
                    .on_line = [this](std::string_view line) { OnLine(line); }},
                   [this](const ApiAnswer& answer) {
                     if (answer.status == 410) resource_version_.clear();
                     if (!answer.object && answer.status != 410)
                       callbacks_.on_trouble(answer.object.error());
                     Pause();
                   });
}

void NodeWatch::OnLine(std::string_view line) {
  auto event = ParseWatchEvent(line);
  if (event) return OnEvent(*event);
  callbacks_.on_trouble(std::move(event).error().Wrap("watch node " + name_));
  resource_version_.clear();
}

void NodeWatch::OnEvent(const WatchEvent& event) {
  if (event.kind == WatchEvent::Kind::kError) {
    // The server ends the answer after it.
    resource_version_.clear();
    const Value* code = event.object.Find("code");
    if (code == nullptr || code->AsInt() != 410) {
      callbacks_.on_trouble(
          StatusObjectError(event.object, client_.access().origin).Wrap("watch node " + name_));
    }
    return;
  }
  if (resource_version_.empty()) return;  // After an error: what follows is listed.
  backoff_.Reset();
  resource_version_ = event.resource_version;
  if (event.kind == WatchEvent::Kind::kChanged) callbacks_.on_change(&event.object);
  if (event.kind == WatchEvent::Kind::kDeleted) callbacks_.on_change(nullptr);
}

}  // namespace tenon::kubeapi
