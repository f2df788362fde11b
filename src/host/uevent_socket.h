#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "host/uevent.h"
#include "loop/event_loop.h"

namespace tenon::host {

/// Owns one subscription; destroying it ends the calls. Owner: must not outlive its socket.
class UeventSubscription {
 public:
  UeventSubscription() = default;
  UeventSubscription(const UeventSubscription&) = delete;
  UeventSubscription& operator=(const UeventSubscription&) = delete;
  virtual ~UeventSubscription() = default;
};

/// Tells of the kernel's device events, one socket for all who want to know.
///
/// The kernel's own group is read, not udevd's: its messages reach a container, too. They come
/// before udevd has set permissions and made links, so an event is a hint to look in a moment.
/// Thread: loop only.
class UeventSocket {
 public:
  /// `event` is null when events were lost (more came than the kernel keeps): look at everything.
  /// May destroy any subscription; must not destroy the socket.
  using Callback = std::function<void(const Uevent* event)>;

  /// Listens to the kernel. Errors: kPermissionDenied where the sandbox forbids it.
  static Result<std::unique_ptr<UeventSocket>> Open(loop::EventLoop& loop);
  /// Reads messages of the kernel's format from any datagram socket.
  static Result<std::unique_ptr<UeventSocket>> FromFd(loop::EventLoop& loop, base::UniqueFd fd);

  UeventSocket() = default;
  UeventSocket(const UeventSocket&) = delete;
  UeventSocket& operator=(const UeventSocket&) = delete;
  virtual ~UeventSocket() = default;

  [[nodiscard]] virtual std::unique_ptr<UeventSubscription> Subscribe(Callback callback) = 0;
};

}  // namespace tenon::host
