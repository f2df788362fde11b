#pragma once

#include <memory>
#include <string>
#include <vector>

#include "manager/plugin_client.h"
#include "rpc/channel.h"

namespace tenon::kubelet_service {

/// Calls one plugin over its connection. Thread: loop only.
class RpcPluginClient final : public manager::PluginClient {
 public:
  explicit RpcPluginClient(std::unique_ptr<rpc::Channel> channel) : channel_(std::move(channel)) {}

  Call GetOptions(base::Duration deadline, OptionsDone done) override;
  Call ListAndWatch(ListFn on_list, EndFn on_end) override;
  Call Allocate(api::AllocateRequest request, base::Duration deadline, AllocateDone done) override;
  Call GetPreferredAllocation(api::PreferredRequest request, base::Duration deadline,
                              PreferredDone done) override;
  Call PreStartContainer(std::vector<std::string> device_ids, base::Duration deadline,
                         PreStartDone done) override;

 private:
  const std::unique_ptr<rpc::Channel> channel_;
};

}  // namespace tenon::kubelet_service
