#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "device/allocation.h"
#include "device/plugin_api.h"
#include "device/pod_resources.h"
#include "loop/event_loop.h"
#include "rpc/channel.h"
#include "rpc/server.h"

namespace tenon::spine {

/// The kubelet's end of the device plugin protocol as a script: it does what a real one does and,
/// on request, what a real one does on a bad day. Thread: that of its loop.
class FakeKubelet final {
 public:
  /// What it knows of one resource.
  struct Plugin {
    std::string endpoint;
    api::PluginOptions options;
    std::unique_ptr<rpc::Channel> channel;
    std::unique_ptr<rpc::ClientCall> stream;
    bool streaming = false;
    int lists = 0;  ///< Messages received on this stream.
    std::vector<api::ListedDevice> devices;
  };

  FakeKubelet(loop::EventLoop& loop, std::string directory);
  FakeKubelet(const FakeKubelet&) = delete;
  FakeKubelet& operator=(const FakeKubelet&) = delete;

  /// Removes all sockets in the directory, as a kubelet does when it starts, and listens.
  void Start();
  /// As by kill -9: connections end, kubelet.sock stays behind as a dead file.
  void Kill();
  /// Removes kubelet.sock and makes another one; the plugins' connections stay.
  void RecreateSocketOnly();
  /// Ends all ListAndWatch streams and connections; all sockets stay.
  void DropStreams();

  void RefuseNext(int registrations) { refusals_ = registrations; }
  /// Accepts registrations, but opens no stream for this many.
  void ForgetNext(int registrations) { forgets_ = registrations; }
  /// Answers the next registrations after this long.
  void AnswerAfter(base::Duration delay) { delay_ = delay; }
  /// What PodResources List says; served only after this was called.
  void ServePodResources(const std::string& socket, std::vector<PodResources> pods);

  /// How many Register calls came in, those refused included.
  int registrations() const { return registrations_; }
  /// Null when the resource was never registered with this life of the kubelet.
  const Plugin* Find(const std::string& resource) const;
  /// Whether it is registered, has a live stream and got this many devices on it.
  bool Has(const std::string& resource, size_t devices) const;

  using AllocateDone = std::function<void(rpc::Status, std::vector<ContainerAllocation>)>;
  void Allocate(const std::string& resource, const std::vector<api::AllocateRequest>& containers,
                AllocateDone done);
  void PreStart(const std::string& resource, const std::vector<std::string>& ids,
                std::function<void(rpc::Status)> done);

 private:
  struct Registering {
    std::string resource;
    std::unique_ptr<Plugin> plugin;
    std::unique_ptr<rpc::UnaryCall> answer;
    std::unique_ptr<rpc::ClientCall> options;
    loop::TimerHandle delay;
  };

  void Listen();
  void OnRegister(std::string_view request, std::unique_ptr<rpc::UnaryCall> call);
  void Accept(Registering& registering);
  void OpenStream(const std::string& resource, Plugin& plugin);

  loop::EventLoop& loop_;
  base::NullLog log_;
  const std::string directory_;
  int refusals_ = 0;
  int forgets_ = 0;
  int registrations_ = 0;
  base::Duration delay_{};
  std::map<std::string, std::unique_ptr<Plugin>> plugins_;
  std::vector<std::unique_ptr<Registering>> registering_;
  std::vector<std::unique_ptr<rpc::ClientCall>> calls_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<rpc::Server> pod_resources_;
};

}  // namespace tenon::spine
