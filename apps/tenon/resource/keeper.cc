#include "tenon/resource/keeper.h"

#include <functional>
#include <utility>

#include "base/strings.h"
#include "tenon/resource/node_patch.h"

namespace tenon::cli {
namespace {

/// After so long without a patch the next one need not wait.
constexpr base::Duration kQuiet = std::chrono::minutes(2);

uint64_t SeedFor(const loop::EventLoop& loop, const std::string& name) {
  return std::hash<std::string>()(name) ^ reinterpret_cast<uintptr_t>(&loop);
}

}  // namespace

kubeapi::ApiRequest PatchRequest(const std::string& kube_node, const Value& operations) {
  return {.what = "patch node " + kube_node,
          .method = "PATCH",
          .path = "/api/v1/nodes/" + kube_node + "/status",
          .query = "fieldManager=tenon",
          .content_type = "application/json-patch+json",
          .body = ToJson(operations)};
}

Keeper::Keeper(loop::EventLoop& loop, kubeapi::ApiClient& client, base::Log& log,
               std::string kube_node, std::vector<Wish> wishes, loop::Backoff::Options backoff)
    : loop_(loop),
      client_(client),
      log_(log),
      name_(std::move(kube_node)),
      wishes_(std::move(wishes)),
      backoff_(backoff, SeedFor(loop, name_)),
      watch_(loop, client, name_,
             {.on_change = [this](const Value* changed) { OnChange(changed); },
              .on_trouble = [this](const Error& error) { OnTrouble(error.message()); }},
             SeedFor(loop, name_), {.first = backoff.first, .most = backoff.most}) {}

void Keeper::OnChange(const Value* kube_node) {
  const bool was_there = !newest_.is_null();
  newest_ = kube_node == nullptr ? Value() : *kube_node;
  if (kube_node == nullptr && (was_there || !is_known_))
    log_.Warning("there is no such node; waiting for it", {{"node", name_}});
  is_known_ = true;
  trouble_.clear();
  Settle();
}

void Keeper::OnTrouble(const std::string& message) {
  if (std::exchange(trouble_, message) != message)
    log_.Warning("trouble with the API server; trying on", {{"node", name_}, {"error", message}});
}

void Keeper::TellRefusals(const std::vector<std::string>& refusals) {
  std::string all = base::Join(refusals, "; ");
  if (all != refusals_ && !all.empty())
    log_.Warning("left alone", {{"node", name_}, {"reason", all}});
  refusals_ = std::move(all);
}

void Keeper::Settle() {
  if (newest_.is_null() || call_ != nullptr || timer_.pending()) return;
  const NodePatch patch = PatchToSet(newest_, wishes_, Existing::kReplace);
  TellRefusals(patch.refusals);
  if (patch.empty()) return;
  if (loop_.timers().now() - patched_at_ > kQuiet) backoff_.Reset();
  patched_at_ = loop_.timers().now();
  call_ = client_.Send(PatchRequest(name_, patch.operations),
                       [this, changes = base::Join(patch.changes, ", ")](
                           const kubeapi::ApiAnswer& answer) { OnPatched(answer, changes); });
}

void Keeper::OnPatched(const kubeapi::ApiAnswer& answer, const std::string& changes) {
  if (answer.object) {
    trouble_.clear();
    log_.Info("advertised", {{"node", name_}, {"resources", changes}});
    newest_ = *answer.object;
  } else {
    OnTrouble(answer.object.error().message());
  }
  // A test that failed, or a node that went, is seen by the watch before the wait is over.
  timer_ = loop_.timers().After(backoff_.Next(), [this] { Settle(); });
  call_.reset();
}

}  // namespace tenon::cli
