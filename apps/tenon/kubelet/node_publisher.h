#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "kubeapi/api_client.h"
#include "loop/event_loop.h"
#include "manager/device_table.h"
#include "value/value.h"

namespace tenon::kubelet {

/// What a kubelet writes into the status of its Node object for extended resources.
///
/// Offered resources get their numbers. Those of `offered_before` that are no longer offered stay
/// with 0, as pods that ask for them are then refused instead of being taken for ones that ask for
/// something that is not of this node. What an administrator has put into capacity is copied to
/// allocatable; with `forget` it is set to 0, too. What is in allocatable alone is deleted.
/// Returns: a merge patch (RFC 7396) of the Node; an empty object if it says all this already.
/// Source: kubernetes pkg/kubelet/nodestatus/setters.go, MachineInfo; kubelet_node_status.go,
/// reconcileExtendedResource.
Value StatusPatch(const Value& kube_node, const std::vector<manager::ResourceCapacity>& offered,
                  const std::set<std::string>& offered_before, bool forget);

/// Keeps a Node object of a real cluster in step with our device manager, as a kubelet does: looks
/// at it every 10 s and when something has changed, and patches what differs. Thread: loop only.
class NodePublisher final {
 public:
  using OfferedFn = std::function<std::vector<manager::ResourceCapacity>()>;

  struct Options {
    std::string kube_node;
    /// There is no checkpoint: whatever the node says is of a machine that is no more.
    bool forget = false;
    /// Source: the kubelet's nodeStatusUpdateFrequency.
    base::Duration every = std::chrono::seconds(10);
  };

  /// `loop`, `client` and `log` are borrowed.
  NodePublisher(loop::EventLoop& loop, kubeapi::ApiClient& client, base::Log& log,
                OfferedFn offered, Options options);
  NodePublisher(const NodePublisher&) = delete;
  NodePublisher& operator=(const NodePublisher&) = delete;

  /// What is offered may have changed.
  void Refresh();

 private:
  void Look();
  void OnNode(const kubeapi::ApiAnswer& answer);
  void OnPatched(const kubeapi::ApiAnswer& answer);
  void TellTrouble(const std::string& message);
  void Wait();

  loop::EventLoop& loop_;
  kubeapi::ApiClient& client_;
  base::Log& log_;
  const OfferedFn offered_;
  const Options options_;
  bool forget_;
  bool stale_ = false;  ///< Refresh() came while a call was under way.
  std::set<std::string> offered_before_;
  std::string trouble_;  ///< Told last, not to repeat it.
  std::unique_ptr<kubeapi::ApiCall> call_;
  loop::TimerHandle timer_;
};

}  // namespace tenon::kubelet
