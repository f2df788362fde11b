#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kubeapi/api_client.h"
#include "loop/backoff.h"
#include "value/value.h"

namespace tenon::kubeapi {

/// One event of a watch.
struct WatchEvent {
  enum class Kind {
    kChanged,  ///< ADDED or MODIFIED.
    kDeleted,
    kBookmark,  ///< Nothing but a resource version.
    kError,     ///< `object` is a Status.
  };
  Kind kind = Kind::kChanged;
  std::string resource_version;  ///< Empty for an error.
  Value object;
};

/// Reads one line of a watch. Errors: kInvalidArgument.
/// Source: apimachinery pkg/apis/meta/v1/watch.go, WatchEvent.
Result<WatchEvent> ParseWatchEvent(std::string_view line);

/// Follows one Node object for ever: lists it, then watches from there, and lists again when the
/// server no longer knows that place (410). Between tries it waits longer and longer; a server
/// that is away or refuses is told of and tried again. Thread: loop only.
class NodeWatch final {
 public:
  struct Callbacks {
    /// The node as it is, or null when there is none.
    std::function<void(const Value* kube_node)> on_change;
    std::function<void(const Error& error)> on_trouble;
  };

  /// `client` is borrowed; no callback may destroy the watch or run within the constructor.
  /// Requires: `name` is a DNS subdomain. `seed` is for the back-off and the length of each watch.
  NodeWatch(loop::EventLoop& loop, ApiClient& client, std::string name, Callbacks callbacks,
            uint64_t seed, loop::Backoff::Options backoff = kBackoff);
  NodeWatch(const NodeWatch&) = delete;
  NodeWatch& operator=(const NodeWatch&) = delete;

  /// Source: client-go tools/cache/reflector.go, the back-off of a reflector.
  static constexpr loop::Backoff::Options kBackoff{.first = std::chrono::milliseconds(800),
                                                   .most = std::chrono::seconds(30)};

 private:
  void Next();
  void List();
  void Watch();
  void OnList(const ApiAnswer& answer);
  void OnLine(std::string_view line);
  void OnEvent(const WatchEvent& event);
  void Pause();

  loop::EventLoop& loop_;
  ApiClient& client_;
  const std::string name_;
  const Callbacks callbacks_;
  uint64_t seed_;
  loop::Backoff backoff_;
  std::string resource_version_;  ///< Empty: to be listed.
  loop::TimerHandle timer_;
  std::unique_ptr<ApiCall> call_;
};

}  // namespace tenon::kubeapi
