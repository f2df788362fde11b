#include "tenon/kubelet/trial.h"

#include <utility>

#include "runtime/cri_runtime.h"
#include "runtime/image_dir.h"
#include "runtime/oci_config.h"
#include "runtime/runc.h"

namespace tenon::kubelet {
namespace {

/// An image that has every mount point: what is looked for in it is nobody's question here.
class AnyImage final : public host::Host {
 public:
  Result<host::FileStat> Stat(const std::string&) override {
    return host::FileStat{.kind = host::FileKind::kDirectory};
  }
  Result<host::FileStat> StatLink(const std::string& path) override { return Stat(path); }
  Result<std::string> RealPath(const std::string& path) override { return path; }
  Result<std::vector<std::string>> List(const std::string&) override {
    return std::vector<std::string>();
  }
  Result<std::string> Read(const std::string& path, size_t) override {
    return Error(Code::kNotFound, path + " is in no image");
  }
  std::string HostPath(const std::string& path) const override { return path; }
};

}  // namespace

std::vector<const pod::Container*> Trials::Containers(const pod::Pod& pod) {
  std::vector<const pod::Container*> out;
  for (const auto* containers : {&pod.init_containers, &pod.containers})
    for (const pod::Container& container : *containers)
      out.push_back(&container);
  return out;
}

void Trials::Start(pod::Pod pod, Format format, Done done) {
  const Handle trial = trials_.insert(
      trials_.end(), {.pod = std::move(pod), .format = format, .done = std::move(done)});
  parts_.devices.Admit(
      trial->pod, {},
      [this, trial, alive = std::weak_ptr<const bool>(alive_)](const manager::AdmitResult& result) {
        if (alive.expired()) return;
        if (result.admitted) return PrepareNext(trial);
        Value answer = Value::Object();
        answer.Add("admitted", Value::Bool(false));
        answer.Add("reason", Value::String(result.reason));
        answer.Add("message", Value::String(result.message));
        End(trial, std::move(answer));
      });
}

void Trials::PrepareNext(Handle trial) {
  const auto containers = Containers(trial->pod);
  if (trial->next == containers.size()) {
    Value answer = Value::Object();
    answer.Add("admitted", Value::Bool(true));
    answer.Add("containers", std::move(trial->containers));
    return End(trial, std::move(answer));
  }
  const pod::Container& container = *containers[trial->next++];
  parts_.devices.PrepareStart(trial->pod.uid, container.name,
                              [this, trial, &container, alive = std::weak_ptr<const bool>(alive_)](
                                  const Result<ContainerAllocation>& allocation) {
                                if (alive.expired()) return;
                                Value& item = trial->containers.Append(Value::Object());
                                item.Add("name", Value::String(container.name));
                                auto config = Configure(*trial, container, allocation);
                                if (config) {
                                  item.Add("config", *std::move(config));
                                } else {
                                  item.Add("error", Value::String(config.error().message()));
                                }
                                PrepareNext(trial);
                              });
}

Result<Value> Trials::Configure(const Trial& trial, const pod::Container& container,
                                const Result<ContainerAllocation>& allocation) const {
  if (!allocation) return allocation.error();
  if (trial.format == Format::kCri) {
    TENON_TRY(const auto config, runtime::BuildCriConfig(trial.pod, container, *allocation, 0,
                                                         container.name + "/output.log"));
    return runtime::ToValue(config);
  }
  AnyImage image;
  const auto rootfs = runtime::FindImage(parts_.image_dir, container.image);
  return runtime::BuildOciConfig(
      container, *allocation,
      {.rootfs = rootfs ? *rootfs : container.image,
       .cgroups_path = runtime::CgroupOf(trial.pod.uid) + "/" + container.name,
       .hostname = trial.pod.name,
       .cdi_directories = parts_.cdi_directories},
      parts_.machine, image);
}

void Trials::End(Handle trial, Value answer) {
  parts_.devices.Remove(trial->pod.uid);
  const Done done = std::move(trial->done);
  trials_.erase(trial);
  done(std::move(answer));
}

}  // namespace tenon::kubelet
