#include "tenon/kubelet/pod_store.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

#include "base/strings.h"
#include "host/atomic_file.h"
#include "pod/manifest.h"
#include "value/value.h"

namespace tenon::kubelet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRecordName = "record.json";

Error FileError(const std::string& what, const std::error_code& error) {
  return {Code::kInternal, what + ": " + error.message(), error.value()};
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return Error(Code::kNotFound, path + " cannot be read");
  return text;
}

Result<void> WriteRecord(const std::string& directory, const std::string& text) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return FileError("mkdir " + directory, error);
  return host::WriteFileAtomically(base::JoinPath(directory, kRecordName), text, 0600);
}

Result<void> RemoveTree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return FileError("remove " + path, error);
  return {};
}

std::vector<std::string> Subdirectories(const std::string& path) {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.is_directory(error) && !entry.is_symlink(error)) {
      out.push_back(entry.path().filename());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::string EncodeRecord(const PodRecord& record) {
  Value out = Value::Object();
  out.Add("pod", pod::ToValue(record.pod));
  out.Add("status", pod::ToValue(record.status));
  out.Add("created", Value::String(base::FormatRfc3339(record.created)));
  out.Add("deleting", Value::Bool(record.deleting));
  Value& processes = out.Add("processes", Value::Object());
  for (const auto& [container, identity] : record.processes) {
    Value& item = processes.Add(container, Value::Object());
    item.Add("name", Value::String(identity.name));
    item.Add("pid", Value::Number(identity.process.pid));
    item.Add("startTicks", Value::Number(static_cast<int64_t>(identity.process.start_ticks)));
  }
  return ToJson(out);
}

Result<PodRecord> DecodeRecord(std::string_view text) {
  TENON_TRY(const Value value, ParseJson(text, kRecordName));
  const Value empty;
  const auto member = [&value, &empty](std::string_view key) -> const Value& {
    const Value* found = value.Find(key);
    return found ? *found : empty;
  };
  pod::Manifest manifest =
      pod::ParseManifest(ToJson(member("pod")), kRecordName, [] { return ""; });
  if (!manifest.problems.empty()) return Error(Code::kDataLoss, manifest.problems.front());
  PodRecord out{.pod = std::move(manifest.pods.front())};
  TENON_TRY(out.status, pod::ParseStatus(member("status")));
  const auto created = base::ParseRfc3339(member("created").text());
  const auto deleting = member("deleting").AsBool();
  if (!created || !deleting || !member("processes").is_object()) {
    return Error(Code::kDataLoss, "created, deleting or processes is wrong");
  }
  out.created = *created;
  out.deleting = *deleting;
  for (const Value::Member& process : member("processes").members()) {
    const Value* name = process.value.Find("name");
    const Value* pid = process.value.Find("pid");
    const Value* ticks = process.value.Find("startTicks");
    const int64_t pid_value = pid ? pid->AsInt().value_or(0) : 0;
    const int64_t ticks_value = ticks ? ticks->AsInt().value_or(-1) : -1;
    // Without a pid it is one that its runtime watches.
    if (!name || pid_value < 0 || pid_value > std::numeric_limits<pid_t>::max() ||
        ticks_value < 0) {
      return Error(Code::kDataLoss, "a process is wrong");
    }
    out.processes[process.key] = {
        .name = name->text(),
        .process = {static_cast<pid_t>(pid_value), static_cast<uint64_t>(ticks_value)}};
  }
  return out;
}

PodStore::PodStore(loop::Worker& worker, std::string directory)
    : worker_(worker), directory_(std::move(directory)) {}

Result<PodStore::Loaded> PodStore::Load() {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) return FileError("mkdir " + directory_, error);
  fs::permissions(directory_, fs::perms::owner_all, error);
  Loaded out;
  for (const std::string& uid : Subdirectories(directory_)) {
    const std::string path = base::JoinPath(directory_, uid);
    const auto text = ReadFile(base::JoinPath(path, kRecordName));
    auto record = text ? DecodeRecord(*text) : Result<PodRecord>(text.error());
    if (record && record->pod.uid != uid) record = Error(Code::kDataLoss, "it has another uid");
    if (record) {
      out.records.push_back(*std::move(record));
    } else {
      out.orphans.push_back({uid, Subdirectories(path), record.error().message()});
    }
  }
  std::stable_sort(out.records.begin(), out.records.end(),
                   [](const PodRecord& a, const PodRecord& b) { return a.created < b.created; });
  return out;
}

void PodStore::Submit(std::function<Result<void>()> job, Done done) {
  worker_.Submit([alive = std::weak_ptr<const bool>(alive_), job = std::move(job),
                  done = std::move(done)]() -> std::function<void()> {
    return [alive, done, result = job()] {
      if (!alive.expired()) done(result);
    };
  });
}

void PodStore::Save(const PodRecord& record, Done done) {
  Submit([directory = base::JoinPath(directory_, record.pod.uid),
          text = EncodeRecord(record)] { return WriteRecord(directory, text); },
         std::move(done));
}

void PodStore::Remove(const std::string& uid, Done done) {
  Submit([path = base::JoinPath(directory_, uid)] { return RemoveTree(path); }, std::move(done));
}

std::string PodStore::ContainerDirectory(const std::string& uid,
                                         const std::string& container) const {
  return base::JoinPath(base::JoinPath(directory_, uid), container);
}

std::string PodStore::OutputPath(const std::string& uid, const std::string& container) const {
  return base::JoinPath(ContainerDirectory(uid, container), "output.log");
}

}  // namespace tenon::kubelet
