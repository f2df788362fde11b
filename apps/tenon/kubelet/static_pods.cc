#include "tenon/kubelet/static_pods.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/strings.h"
#include "pod/manifest.h"
#include "pod/status.h"
#include "value/value.h"

namespace tenon::kubelet {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;

/// What tells static pods from others, and one content of a file from another.
/// Source: kubernetes pkg/kubelet/types/pod_update.go.
constexpr const char* kSourceAnnotation = "kubernetes.io/config.source";
constexpr const char* kHashAnnotation = "kubernetes.io/config.hash";

/// FNV-1a, 64 bits: the same manifest has the same uid after a restart.
std::string HashOf(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4)
    out += kHex[(hash >> shift) & 0xf];
  return out;
}

bool IsManifestName(const std::string& name) {
  return !name.starts_with('.') &&
         (name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json"));
}

std::string TextOf(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? "" : found->second;
}

bool IsStatic(const pod::Pod& pod) {
  return TextOf(pod.annotations, kSourceAnnotation) == "file";
}

Result<void> CheckTrust(const host::FileStat& file) {
  if (file.uid != 0 && file.uid != ::geteuid()) {
    return Error(Code::kPermissionDenied,
                 "belongs to user " + std::to_string(file.uid) + ", not to root");
  }
  if ((file.mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error(Code::kPermissionDenied, "can be written to by others than its owner");
  return {};
}

}  // namespace

StaticPods::StaticPods(loop::EventLoop& loop, base::Log& log, host::Host& machine, Pods& pods,
                       Options options)
    : loop_(loop), log_(log), machine_(machine), pods_(pods), options_(std::move(options)) {}

void StaticPods::Look() {
  look_ = loop_.timers().After(options_.interval, [this] { Look(); });
  ReadDirectory();
  std::map<Key, const pod::Pod*> wanted;
  for (const auto& [path, file] : files_) {
    for (const pod::Pod& pod : file.pods)
      wanted.emplace(Key(pod.namespace_name, pod.name), &pod);
  }
  DeleteStale(wanted);
  for (const auto& [key, pod] : wanted) {
    if (const PodWorker* there = pods_.Find(key)) {
      if (!IsStatic(there->pod())) Complain(pod->FullName(), "another pod has the name");
      continue;
    }
    if (auto created = pods_.Create({*pod}, [](const std::vector<Key>&) {}); !created) {
      Complain(pod->FullName(), created.error().message());
    } else {
      complaints_.erase(pod->FullName());
    }
  }
}

void StaticPods::DeleteStale(const std::map<Key, const pod::Pod*>& wanted) {
  std::vector<std::pair<Key, base::Duration>> stale;
  for (const auto& [key, worker] : pods_.all()) {
    const pod::Pod& pod = worker->pod();
    if (!IsStatic(pod) || deleting_.contains(key)) continue;
    const auto found = wanted.find(key);
    const bool same =
        found != wanted.end() && TextOf(found->second->annotations, kHashAnnotation) ==
                                     TextOf(pod.annotations, kHashAnnotation);
    const pod::PodStatus& status = worker->record().status;
    const bool refused = status.phase == pod::Phase::kFailed && !status.reason.empty();
    if (same && !refused) continue;
    stale.emplace_back(key, pod.termination_grace);
  }
  for (const auto& [key, grace] : stale) {
    deleting_.insert(key);
    // What was refused is made again at the next look, not at once.
    pods_.Delete(key, grace, [this, key = key, alive = std::weak_ptr<const bool>(alive_)] {
      if (!alive.expired()) deleting_.erase(key);
    });
  }
}

void StaticPods::ReadDirectory() {
  const auto stat = machine_.Stat(options_.directory);
  const auto trusted = stat ? CheckTrust(*stat) : Result<void>(stat.error());
  if (!trusted) return Complain(options_.directory, trusted.error().message());
  auto names = machine_.List(options_.directory);
  if (!names) return Complain(options_.directory, names.error().message());
  complaints_.erase(options_.directory);
  std::set<std::string> present;
  for (const std::string& name : *names) {
    if (!IsManifestName(name)) continue;
    const std::string path = base::JoinPath(options_.directory, name);
    present.insert(path);
    ReadFile(path);
  }
  std::erase_if(files_, [&present](const auto& file) { return !present.contains(file.first); });
}

void StaticPods::ReadFile(const std::string& path) {
  auto text = ReadTrusted(path);
  if (!text) return Complain(path, text.error().message());
  const auto known = files_.find(path);
  if (known != files_.end() && known->second.text == *text) return;
  pod::Manifest manifest = pod::ParseManifest(*text, path, [] { return std::string(); });
  if (!manifest.problems.empty()) return Complain(path, base::Join(manifest.problems, "; "));
  complaints_.erase(path);
  File& file = files_[path];
  file.text = *std::move(text);
  file.pods.clear();
  for (pod::Pod& pod : manifest.pods)
    file.pods.push_back(Finish(std::move(pod), path));
}

Result<std::string> StaticPods::ReadTrusted(const std::string& path) {
  TENON_TRY(const host::FileStat stat, machine_.Stat(path));
  TENON_TRY_VOID(CheckTrust(stat));
  TENON_TRY(std::string text, machine_.Read(path, kMaxBytes + 1));
  if (text.size() > kMaxBytes) return Error(Code::kInvalidArgument, "is over 1 MiB");
  return text;
}

void StaticPods::Complain(const std::string& path, const std::string& why) {
  std::string& last = complaints_[path];
  if (last == why) return;
  last = why;
  log_.Error("static pods cannot be had", {{"from", path}, {"why", why}});
}

pod::Pod StaticPods::Finish(pod::Pod pod, const std::string& path) const {
  const std::string hash = HashOf(path + "\n" + ToJson(pod::ToValue(pod)));
  pod.name += "-" + options_.node_name;
  if (pod.uid.empty()) pod.uid = "static-" + hash;
  pod.annotations[kSourceAnnotation] = "file";
  pod.annotations[kHashAnnotation] = hash;
  return pod;
}

}  // namespace tenon::kubelet
