#include "manager/admission_queue.h"

#include <algorithm>
#include <utility>

namespace tenon::manager {

AdmissionQueue::AdmissionQueue(DeviceState state, base::Log& log, CheckpointStore& store,
                               LaterQueue& later, const ManagerOptions& options)
    : state_(state), log_(log), store_(store), later_(later), options_(options) {}

void AdmissionQueue::Admit(PodRequest pod, Done done) {
  Enqueue(std::move(pod), /*of_container=*/false,
          [done = std::move(done)](const Result<AdmitResult>& result) {
            if (result) return done(*result);
            done({.admitted = false,
                  .reason = "UnexpectedAdmissionError",
                  .message = "Allocate failed due to " + result.error().message() +
                             ", which is unexpected"});
          });
}

void AdmissionQueue::AllocateMissing(const PodRequest& pod, const ContainerRequest& container,
                                     std::function<void(Result<void>)> done) {
  PodRequest only = pod;
  only.containers = {container};
  only.containers[0].running = false;
  Enqueue(std::move(only), /*of_container=*/true,
          [done = std::move(done)](const Result<AdmitResult>& result) {
            if (!result) return done(result.error());
            if (!result->admitted) return done(Error(Code::kResourceExhausted, result->message));
            done({});
          });
}

void AdmissionQueue::Enqueue(PodRequest pod, bool of_container, Ended done) {
  auto is_this = [&](const std::string& uid) { return uid == pod.uid; };
  if (std::ranges::any_of(waiting_, is_this,
                          [](const Waiting& w) { return w.admission->pod().uid; }) ||
      std::ranges::any_of(unsaved_, is_this, &Unsaved::uid))
    return Refuse(std::move(done), "pod " + pod.uid + " is being admitted already");
  waiting_.push_back(
      {std::make_unique<Admission>(state_, std::move(pod), options_,
                                   [this](const Result<Admission::Outcome>& r) { OnAllocated(r); }),
       of_container, std::move(done)});
  StartNext();
}

void AdmissionQueue::StartNext() {
  if (allocating_ || waiting_.empty()) return;
  allocating_ = true;
  waiting_.front().admission->Start();
}

void AdmissionQueue::OnAllocated(const Result<Admission::Outcome>& result) {
  Waiting first = std::move(waiting_.front());
  waiting_.pop_front();
  allocating_ = false;
  if (result && *result == Admission::Outcome::kAllocated) {
    Commit(std::move(first));
  } else {
    first.admission.reset();  // Gives its devices back before the next pod looks for some.
    if (result) {
      Answer(std::move(first.done),
             AdmitResult{.admitted = false,
                         .reason = "TopologyAffinityError",
                         .message = "Resources cannot be allocated with Topology locality"});
    } else {
      Refuse(std::move(first.done), result.error().message());
    }
  }
  StartNext();
}

void AdmissionQueue::Commit(Waiting waiting) {
  if (auto resource = waiting.admission->Missed())
    return Refuse(std::move(waiting.done), "device plugin of " + *resource +
                                               " came back only while the pod was being admitted");
  const PodRequest& pod = waiting.admission->pod();
  bool admitted_before = true;
  if (!waiting.of_container) {
    std::optional<bool> taken = TakeIn(pod, waiting.done);
    if (!taken) return;
    admitted_before = *taken;
  }
  Unsaved unsaved{.number = next_number_++,
                  .uid = pod.uid,
                  .added = waiting.admission->Commit(),
                  .admitted_before = admitted_before,
                  .done = std::move(waiting.done)};
  if (unsaved.added.empty()) return Answer(std::move(unsaved.done), AdmitResult{.admitted = true});
  Save(std::move(unsaved));
}

std::optional<bool> AdmissionQueue::TakeIn(const PodRequest& pod, Ended& done) {
  // The pod's own requests do not count against it when it is admitted again.
  const PodRequest* before = FindAdmitted(pod.uid);
  Requests used = requested_;
  if (before != nullptr)
    for (const auto& [resource, quantity] : TotalRequests(*before))
      used[resource] -= quantity;
  Requests requested = TotalRequests(pod);
  if (auto unfit = FirstUnfit(requested, used, state_.table, state_.pods)) {
    Answer(std::move(done), AdmitResult{.admitted = false,
                                        .reason = "OutOf" + unfit->resource,
                                        .message = unfit->Message()});
    return std::nullopt;
  }
  const bool admitted_before = DropAdmitted(pod.uid);
  admitted_.push_back(pod);
  admitted_by_uid_[pod.uid] = std::prev(admitted_.end());
  for (const auto& [resource, quantity] : requested)
    requested_[resource] += quantity;
  return admitted_before;
}

void AdmissionQueue::Save(Unsaved unsaved) {
  store_.Save([this, number = unsaved.number](const Result<void>& r) { OnSaved(number, r); });
  unsaved_.push_back(std::move(unsaved));
}

void AdmissionQueue::OnSaved(uint64_t number, const Result<void>& result) {
  auto at = std::ranges::find(unsaved_, number, &Unsaved::number);
  if (at == unsaved_.end()) return;  // The pod was removed meanwhile.
  Unsaved unsaved = std::move(*at);
  unsaved_.erase(at);
  if (result) return Answer(std::move(unsaved.done), AdmitResult{.admitted = true});
  for (const HoldKey& key : unsaved.added)
    state_.pods.Remove(key);
  if (!unsaved.admitted_before) DropAdmitted(unsaved.uid);
  Refuse(std::move(unsaved.done), result.error().message());
}

void AdmissionQueue::Remove(const std::string& uid) {
  const std::string why = "pod " + uid + " was removed while it was being admitted";
  auto waiting = std::ranges::find_if(
      waiting_, [&](const Waiting& w) { return w.admission->pod().uid == uid; });
  if (waiting != waiting_.end()) {
    Refuse(std::move(waiting->done), why);
    if (waiting == waiting_.begin()) allocating_ = false;
    waiting_.erase(waiting);
  }
  auto unsaved = std::ranges::find(unsaved_, uid, &Unsaved::uid);
  if (unsaved != unsaved_.end()) {
    Refuse(std::move(unsaved->done), why);
    unsaved_.erase(unsaved);
  }
  DropAdmitted(uid);
  if (state_.pods.RemovePod(uid)) SaveLogged();
  StartNext();
}

const PodRequest* AdmissionQueue::FindAdmitted(const std::string& uid) const {
  auto at = admitted_by_uid_.find(uid);
  return at == admitted_by_uid_.end() ? nullptr : &*at->second;
}

bool AdmissionQueue::DropAdmitted(const std::string& uid) {
  auto at = admitted_by_uid_.find(uid);
  if (at == admitted_by_uid_.end()) return false;
  for (const auto& [resource, quantity] : TotalRequests(*at->second)) {
    int64_t& total = requested_[resource];
    total -= quantity;
    if (total == 0) requested_.erase(resource);
  }
  admitted_.erase(at->second);
  admitted_by_uid_.erase(at);
  return true;
}

void AdmissionQueue::SaveLogged() {
  store_.Save([&log = log_](const Result<void>& result) {
    if (!result) log.Error("checkpoint is out of date", {{"why", result.error().message()}});
  });
}

void AdmissionQueue::Answer(Ended done, Result<AdmitResult> result) {
  later_.Add([done = std::move(done), result = std::move(result)] { done(result); });
}

void AdmissionQueue::Refuse(Ended done, std::string why) {
  Answer(std::move(done), Error(Code::kFailedPrecondition, std::move(why)));
}

}  // namespace tenon::manager
