#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "loop/event_loop.h"
#include "rpc/channel.h"
#include "rpc/server.h"

namespace tenon::bench {

/// The kubelet's end, as far as a plugin can see it: it takes registrations, dials back, and keeps
/// the last list of each resource as it came.
class BenchKubelet final {
 public:
  struct Plugin {
    std::unique_ptr<rpc::Channel> channel;
    std::unique_ptr<rpc::ClientCall> watch;
    std::string list;
  };

  BenchKubelet(loop::EventLoop& loop, std::string directory)
      : loop_(loop), directory_(std::move(directory)) {}
  BenchKubelet(const BenchKubelet&) = delete;
  BenchKubelet& operator=(const BenchKubelet&) = delete;

  /// Makes kubelet.sock.
  void Start();
  /// What a restart of the kubelet does: it forgets all, and every socket of the directory goes.
  void StopAndWipe();
  /// Forgets what has been registered and counted.
  void Forget();

  int registrations() const { return registrations_; }
  int lists() const { return lists_; }
  /// Whether so many resources have registered and each has sent its list.
  bool Listed(size_t resources) const;
  /// Allocates the first device of the first resource; `done` runs when it is answered.
  /// Requires: Listed(1).
  std::unique_ptr<rpc::ClientCall> Allocate(std::function<void()> done);

 private:
  void OnRegister(std::string_view bytes, std::unique_ptr<rpc::UnaryCall> call);

  loop::EventLoop& loop_;
  const std::string directory_;
  base::NullLog log_;
  std::map<std::string, Plugin> plugins_;
  std::string allocate_request_;  ///< Made once: its making is no part of what is measured.
  int registrations_ = 0;
  int lists_ = 0;
  std::unique_ptr<rpc::Server> server_;
};

}  // namespace tenon::bench
