#include "tenon/pod_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tenon/cri_log.h"
#include "tenon/json_view.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

/// Plugins are asked inside these calls, and each may take its time.
constexpr base::Duration kAdmission = std::chrono::minutes(5);
constexpr base::Duration kDeletion = std::chrono::minutes(5);
constexpr int kLogWaitSeconds = 10;
/// Between looks at a pod that has nothing to tell yet.
constexpr base::Duration kPause = std::chrono::milliseconds(100);

/// Whether what the container writes is kept by a CRI runtime, in its format. Requires: some of it
/// was written, so that the container is known.
Result<bool> IsCriLog(ControlClient& client, const PodKey& key, const std::string& container) {
  TENON_TRY(const Value pod, GetPod(client, key));
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Value& status : ItemsAt(pod, {"status", list})) {
      if (!container.empty() && TextAt(status, {"name"}) != container) continue;
      const std::string id = TextAt(status, {"containerID"});
      return !id.empty() && !id.starts_with("runc://");
    }
  }
  return false;
}

Error Interrupted() {
  return {Code::kUnavailable, "interrupted"};
}

}  // namespace

PodKey KeyOf(const Value& pod) {
  return {.namespace_name = TextAt(pod, {"metadata", "namespace"}),
          .name = TextAt(pod, {"metadata", "name"})};
}

bool IsTerminal(const Value& pod) {
  std::string phase = TextAt(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

std::string PhaseLine(const Value& pod) {
  PodKey key = KeyOf(pod);
  std::string line = key.namespace_name + "/" + key.name;
  for (std::string_view field : {"phase", "reason", "message"}) {
    std::string text = TextAt(pod, {"status", field});
    if (!text.empty()) line += ": " + text;
  }
  return line;
}

Result<std::vector<Value>> CreatePods(ControlClient& client, const std::string& manifest) {
  TENON_TRY(
      Value answer,
      client.CallJson({.method = "POST", .path = "/api/v1/pods", .body = manifest}, kAdmission));
  return ItemsAt(answer, {"items"});
}

Result<Value> GetPod(ControlClient& client, const PodKey& key) {
  return client.CallJson({.path = key.Path()});
}

Result<void> DeletePod(ControlClient& client, const PodKey& key, int grace_seconds) {
  admin::HttpRequest request{.method = "DELETE", .path = key.Path()};
  if (grace_seconds >= 0) request.query["grace"] = std::to_string(grace_seconds);
  auto answer = client.Call(request, kDeletion + std::chrono::seconds(std::max(grace_seconds, 0)));
  if (!answer) return std::move(answer).error();
  return {};
}

Result<Value> WaitForEnd(ControlClient& client, const PodKey& key) {
  for (;;) {
    TENON_TRY(Value pod, GetPod(client, key));
    if (IsTerminal(pod)) return pod;
    if (!client.Sleep(kPause)) return Interrupted();
  }
}

namespace {

/// Reads the log of one container piece by piece.
class LogReader {
 public:
  LogReader(ControlClient& client, const PodKey& key, const std::string& container)
      : client_(client), key_(key), container_(container) {
    request_.path = key.Path() + "/log";
    if (!container.empty()) request_.query["container"] = container;
  }

  /// What was written since the last call; waits for it at most so long. Empty: nothing.
  Result<std::string> Next(int wait_seconds) {
    request_.query["offset"] = std::to_string(offset_);
    request_.query["wait"] = std::to_string(wait_seconds);
    TENON_TRY(admin::HttpResponse log,
              client_.Call(request_, std::chrono::seconds(kLogWaitSeconds + 30)));
    offset_ += log.body.size();
    return std::move(log.body);
  }
  /// The lines of the container in what Next() gave.
  Result<std::string> Lines(std::string piece) {
    if (!is_cri_) {
      TENON_TRY(is_cri_, IsCriLog(client_, key_, container_));
    }
    return *is_cri_ ? cri_log_.Feed(piece) : std::move(piece);
  }

 private:
  ControlClient& client_;
  const PodKey& key_;
  const std::string& container_;
  admin::HttpRequest request_;
  size_t offset_ = 0;
  std::optional<bool> is_cri_;
  CriLog cri_log_;
};

}  // namespace

Result<void> PrintLog(ControlClient& client, const PodKey& key, const std::string& container,
                      bool follow) {
  LogReader reader(client, key, container);
  for (bool ended = !follow;;) {
    TENON_TRY(std::string piece, reader.Next(ended ? 0 : kLogWaitSeconds));
    if (!piece.empty()) {
      TENON_TRY(std::string lines, reader.Lines(std::move(piece)));
      Print(lines);
      if (!FlushOutput()) return {};
      continue;
    }
    if (ended) return {};
    // The end is looked at before the last read, so that nothing written in between is lost.
    TENON_TRY(Value pod, GetPod(client, key));
    ended = IsTerminal(pod);
    if (!ended && !client.Sleep(kPause)) return Interrupted();
  }
}

}  // namespace tenon::cli
