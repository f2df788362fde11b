#include "manager/admission_queue.h"

#include <algorithm>
#include <utility>

namespace tenon::manager {

AdmissionQueue::AdmissionQueue(DeviceState state, base::Log& log, CheckpointStore& store,
                               LaterQueue& later, const ManagerOptions& options)
    : state_(state), log_(log), store_(store), later_(later), options_(options) {}

void AdmissionQueue::Admit(PodRequest pod, Done done) {
  auto is_this = [&](const std::string& uid) { return uid == pod.uid; };
  if (std::ranges::any_of(waiting_, is_this,
                          [](const Waiting& w) { return w.admission->pod().uid; }) ||
      std::ranges::any_of(unsaved_, is_this, &Unsaved::uid))
    return Refuse(std::move(done), "pod " + pod.uid + " is being admitted already");
  Admission::Deadlines deadlines{options_.allocate_deadline, options_.preferred_deadline};
  waiting_.push_back(
      {std::make_unique<Admission>(state_, std::move(pod), deadlines,
                                   [this](const Result<void>& result) { OnAllocated(result); }),
       std::move(done)});
  StartNext();
}

void AdmissionQueue::StartNext() {
  if (allocating_ || waiting_.empty()) return;
  allocating_ = true;
  waiting_.front().admission->Start();
}

void AdmissionQueue::OnAllocated(const Result<void>& result) {
  Waiting first = std::move(waiting_.front());
  waiting_.pop_front();
  allocating_ = false;
  if (result) {
    Commit(std::move(first));
  } else {
    first.admission.reset();  // Gives its devices back before the next pod looks for some.
    Refuse(std::move(first.done), result.error().message());
  }
  StartNext();
}

void AdmissionQueue::Commit(Waiting waiting) {
  const PodRequest& pod = waiting.admission->pod();
  // The pod's own requests do not count against it when it is admitted again.
  const PodRequest* before = FindAdmitted(pod.uid);
  Requests used = requested_;
  if (before != nullptr)
    for (const auto& [resource, quantity] : TotalRequests(*before))
      used[resource] -= quantity;
  Requests requested = TotalRequests(pod);
  if (auto unfit = FirstUnfit(requested, used, state_.table, state_.pods))
    return Answer(
        std::move(waiting.done),
        {.admitted = false, .reason = "OutOf" + unfit->resource, .message = unfit->Message()});
  Unsaved unsaved{.number = next_number_++,
                  .uid = pod.uid,
                  .added = waiting.admission->Commit(),
                  .admitted_before = DropAdmitted(pod.uid),
                  .done = std::move(waiting.done)};
  admitted_.push_back(pod);
  for (const auto& [resource, quantity] : requested)
    requested_[resource] += quantity;
  if (unsaved.added.empty()) return Answer(std::move(unsaved.done), {.admitted = true});
  store_.Save([this, number = unsaved.number](const Result<void>& r) { OnSaved(number, r); });
  unsaved_.push_back(std::move(unsaved));
}

void AdmissionQueue::OnSaved(uint64_t number, const Result<void>& result) {
  auto at = std::ranges::find(unsaved_, number, &Unsaved::number);
  if (at == unsaved_.end()) return;  // The pod was removed meanwhile.
  Unsaved unsaved = std::move(*at);
  unsaved_.erase(at);
  if (result) return Answer(std::move(unsaved.done), {.admitted = true});
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
  auto at = std::ranges::find(admitted_, uid, &PodRequest::uid);
  return at == admitted_.end() ? nullptr : &*at;
}

bool AdmissionQueue::DropAdmitted(const std::string& uid) {
  auto at = std::ranges::find(admitted_, uid, &PodRequest::uid);
  if (at == admitted_.end()) return false;
  for (const auto& [resource, quantity] : TotalRequests(*at)) {
    int64_t& total = requested_[resource];
    total -= quantity;
    if (total == 0) requested_.erase(resource);
  }
  admitted_.erase(at);
  return true;
}

void AdmissionQueue::SaveLogged() {
  store_.Save([&log = log_](const Result<void>& result) {
    if (!result) log.Error("checkpoint is out of date", {{"why", result.error().message()}});
  });
}

void AdmissionQueue::Answer(Done done, AdmitResult result) {
  later_.Add([done = std::move(done), result = std::move(result)] { done(result); });
}

void AdmissionQueue::Refuse(Done done, const std::string& why) {
  Answer(std::move(done), {.admitted = false,
                           .reason = "UnexpectedAdmissionError",
                           .message = "Allocate failed due to " + why + ", which is unexpected"});
}

}  // namespace tenon::manager
