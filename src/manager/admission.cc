#include "manager/admission.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "device/resource_name.h"

namespace tenon::manager {

Admission::Admission(DeviceState state, PodRequest pod, const ManagerOptions& options, Done done)
    : state_(state), pod_(std::move(pod)), options_(options), done_(std::move(done)) {}

bool Admission::Align() {
  const TopologyOptions& topology = options_.topology;
  if (topology.policy == TopologyPolicy::kNone) return true;
  const bool whole_pod = topology.scope == TopologyScope::kPod;
  if (whole_pod && container_ > 0) return true;
  std::vector<TopologyHints> resources;
  for (const auto& [resource, quantity] : whole_pod ? TotalRequests(pod_) : container().limits)
    if ((quantity > 0 || options_.compat) && state_.Knows(resource))
      resources.push_back(Hints(resource, quantity));
  TopologyDecision decision = MergeHints(resources, topology, options_.numa);
  affinity_ = decision.hint.mask;
  return decision.admit;
}

TopologyHints Admission::Hints(const std::string& resource, int64_t quantity) const {
  const DeviceRow* row = state_.table.Find(resource);
  HintRequest request{.quantity = quantity, .have = HeldInScope(resource), .reusable = {}};
  if (!request.have && options_.topology.scope == TopologyScope::kContainer)
    if (auto reusable = reusable_.find(resource); reusable != reusable_.end())
      request.reusable = reusable->second;
  return DeviceHints(request, row, state_.pods.Free(resource, row), options_.numa);
}

std::optional<std::set<std::string>> Admission::HeldInScope(const std::string& resource) const {
  std::optional<std::set<std::string>> held;
  for (size_t i = 0; i < pod_.containers.size(); ++i) {
    if (options_.topology.scope == TopologyScope::kContainer && i != container_) continue;
    const HeldDevices* devices = state_.pods.Find({pod_.uid, pod_.containers[i].name, resource});
    if (devices == nullptr) continue;
    if (!held) held.emplace();
    for (std::string& id : devices->AllIds())
      held->insert(std::move(id));
  }
  return held;
}

void Admission::Advance() {
  for (; container_ < pod_.containers.size(); EndContainer()) {
    if (!limit_) {
      if (!Align()) return End(Outcome::kNotAligned);
      limit_ = container().limits.begin();
    }
    for (; *limit_ != container().limits.end(); ++*limit_) {
      Result<Step> step = AllocateLimit();
      if (!step) return End(std::move(step).error());
      if (*step == Step::kWaiting) return;
    }
  }
  End(Outcome::kAllocated);
}

Result<Admission::Step> Admission::AllocateLimit() {
  const auto& [resource, quantity] = **limit_;
  if (quantity == 0 && !options_.compat) return Step::kDone;
  if (!state_.Knows(resource)) return SkipUnknown(resource);
  DeviceRequest request{.key = Key(),
                        .required = quantity,
                        .have = {},
                        .reusable = {},
                        .running = IsRunning(),
                        .affinity = affinity_};
  if (const HeldDevices* held = state_.pods.Find(request.key)) {
    request.have = held->AllIds();
  } else if (auto reusable = reusable_.find(resource); reusable != reusable_.end()) {
    request.reusable.assign(reusable->second.begin(), reusable->second.end());
    std::ranges::sort(request.reusable, base::NaturalLess);
  }
  TENON_TRY(selection_,
            Selection::Start(std::move(request), state_.table.Find(resource), state_.pods));
  if (!selection_) return Step::kDone;
  return AskPreference();
}

Result<Admission::Step> Admission::AskPreference() {
  const std::string& resource = (*limit_)->first;
  Endpoint* endpoint = state_.endpoints.Find(resource);
  if (endpoint == nullptr)
    return Error(Code::kFailedPrecondition,
                 "endpoint not found in cache for a registered resource: " + resource);
  if (!selection_->incomplete() || !endpoint->options().preferred_allocation_available)
    return FinishSelection({});
  auto call = endpoint->GetPreferredAllocation(
      selection_->Preference(state_.table.Find(resource), state_.pods), options_.preferred_deadline,
      [this](Result<std::vector<std::string>> preferred) { OnPreferred(std::move(preferred)); });
  if (!call)
    return std::move(call).error().Wrap("device plugin GetPreferredAllocation rpc failed with err");
  call_ = *std::move(call);
  return Step::kWaiting;
}

void Admission::OnPreferred(Result<std::vector<std::string>> preferred) {
  if (!preferred)
    return End(std::move(preferred).error().Wrap(
        "device plugin GetPreferredAllocation rpc failed with err"));
  GoOn(FinishSelection(*preferred));
}

Result<Admission::Step> Admission::FinishSelection(const std::vector<std::string>& preferred) {
  const std::string& resource = (*limit_)->first;
  Selection selection = *std::exchange(selection_, std::nullopt);
  TENON_TRY(std::vector<std::string> ids,
            std::move(selection).Finish(preferred, state_.table.Find(resource), state_.pods));
  TENON_TRY(reservation_, state_.pods.Reserve(Key(), std::move(ids)));
  Endpoint* endpoint = state_.endpoints.Find(resource);
  if (endpoint == nullptr)
    return Error(Code::kFailedPrecondition, "unknown Device Plugin " + resource);
  TENON_TRY(call_, endpoint->Allocate({reservation_->ids()}, options_.allocate_deadline,
                                      [this](Result<std::optional<AllocateAnswer>> answer) {
                                        OnAllocated(std::move(answer));
                                      }));
  return Step::kWaiting;
}

void Admission::OnAllocated(Result<std::optional<AllocateAnswer>> answer) {
  if (!answer) return End(std::move(answer).error());
  if (!answer.value())
    return End(Error(Code::kInternal, "no containers return in allocation response {}"));
  allocated_.push_back({std::move(reservation_), **std::move(answer)});
  GoOn(Step::kDone);
}

void Admission::GoOn(Result<Step> step) {
  if (!step) return End(std::move(step).error());
  if (*step == Step::kWaiting) return;
  ++*limit_;
  Advance();
}

/// What a regular init container held passes on; what a sidecar or an app container took over is
/// theirs for good.
void Admission::EndContainer() {
  for (const auto& [resource, quantity] : container().limits) {
    for (std::string& id : HeldHere(resource)) {
      if (container().kind == ContainerKind::kInit) {
        reusable_[resource].insert(std::move(id));
      } else if (auto reusable = reusable_.find(resource); reusable != reusable_.end()) {
        reusable->second.erase(id);
      }
    }
  }
  ++container_;
  limit_.reset();
}

void Admission::End(Result<Outcome> result) {
  ending_ = state_.timers.After(base::Duration::zero(),
                                [done = done_, result = std::move(result)] { done(result); });
}

std::optional<std::string> Admission::Missed() const {
  for (const std::string& resource : passed_over_)
    if (state_.Knows(resource)) return resource;
  return std::nullopt;
}

std::vector<HoldKey> Admission::Commit() {
  std::vector<HoldKey> added;
  for (Allocated& allocated : std::exchange(allocated_, {})) {
    const HoldKey& key = allocated.reservation->key();
    added.push_back(key);
    allocated.reservation->Commit(
        {.ids = GroupByNuma(allocated.reservation->ids(), state_.table.Find(key.resource)),
         .allocation = std::move(allocated.answer.allocation)},
        std::move(allocated.answer.encoded));
  }
  return added;
}

HoldKey Admission::Key() const {
  return {pod_.uid, container().name, (*limit_)->first};
}

/// An init container that has ended before a container that runs is as good as running: it is not
/// started again, so it must not cost the pod its life when its devices have become unhealthy.
bool Admission::IsRunning() const {
  if (container().kind != ContainerKind::kInit || options_.compat) return container().running;
  return std::any_of(pod_.containers.begin() + static_cast<ptrdiff_t>(container_),
                     pod_.containers.end(),
                     [](const ContainerRequest& later) { return later.running; });
}

/// The kubelet leaves resources that it does not know to the scheduler. Without a scheduler that
/// would start the container without its device, so here it is an error; what the kube node
/// had once is left to the fit check, which says so better.
Result<Admission::Step> Admission::SkipUnknown(const std::string& resource) {
  if (!ResourceName::Parse(resource)) return Step::kDone;  // cpu, memory and their like.
  if (options_.compat || IsRunning()) return Step::kDone;
  if (state_.table.WasRemoved(resource)) {
    passed_over_.insert(resource);
    return Step::kDone;
  }
  std::vector<std::string> known;
  for (const auto& [name, row] : state_.table.rows())
    known.push_back(name);
  return Error(Code::kNotFound, "unknown resource " + resource +
                                    ": no device plugin has registered it (registered: " +
                                    (known.empty() ? "none" : base::Join(known, ", ")) + ")");
}

std::vector<std::string> Admission::HeldHere(const std::string& resource) const {
  HoldKey key{pod_.uid, container().name, resource};
  if (const HeldDevices* held = state_.pods.Find(key)) return held->AllIds();
  for (const Allocated& allocated : allocated_)
    if (allocated.reservation->key() == key) return allocated.reservation->ids();
  return {};
}

}  // namespace tenon::manager
