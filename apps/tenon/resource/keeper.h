#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "kubeapi/api_client.h"
#include "kubeapi/node_watch.h"
#include "loop/backoff.h"
#include "loop/event_loop.h"
#include "tenon/resource/wish.h"

namespace tenon::cli {

/// The request that patches the status of a node.
kubeapi::ApiRequest PatchRequest(const std::string& kube_node, const Value& operations);

/// Keeps the capacities of one kube node as they are wished: watches the Node object and patches it
/// whenever it says otherwise, as it does after it was made anew, or when a kubelet that lost its
/// checkpoint has set them to 0. A resource that a device plugin offers is left to it.
/// Thread: loop only.
class Keeper final {
 public:
  /// How fast it answers to somebody who keeps changing things back.
  static constexpr loop::Backoff::Options kBackoff{.first = std::chrono::seconds(1),
                                                   .most = std::chrono::minutes(1)};

  /// All but the values are borrowed.
  Keeper(loop::EventLoop& loop, kubeapi::ApiClient& client, base::Log& log, std::string kube_node,
         std::vector<Wish> wishes, loop::Backoff::Options backoff = kBackoff);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  void OnChange(const Value* kube_node);
  void OnTrouble(const std::string& message);
  void Settle();
  void OnPatched(const kubeapi::ApiAnswer& answer, const std::string& changes);
  void TellRefusals(const std::vector<std::string>& refusals);

  loop::EventLoop& loop_;
  kubeapi::ApiClient& client_;
  base::Log& log_;
  const std::string name_;
  const std::vector<Wish> wishes_;
  loop::Backoff backoff_;
  Value newest_;  ///< Null when there is no such node.
  bool is_known_ = false;
  std::string trouble_;   ///< Told last, not to repeat it.
  std::string refusals_;  ///< The same.
  base::MonotonicTime patched_at_{};
  std::unique_ptr<kubeapi::ApiCall> call_;  ///< The patch under way.
  loop::TimerHandle timer_;                 ///< Before the next patch.
  kubeapi::NodeWatch watch_;                // Last: its callbacks use all of the above.
};

}  // namespace tenon::cli
