#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "admin/http_server.h"
#include "host/host.h"
#include "pod/pod.h"
#include "tenon/kubelet/device_admission.h"
#include "value/value.h"

namespace tenon::kubelet {

/// Admits pods for the sake of the answer: their devices are allocated, their containers' starts
/// prepared, what a runtime would be told is shown, and everything is given back. Plugins cannot
/// tell it from a pod that ends at once. Thread: loop only.
class Trials final {
 public:
  enum class Format {
    kCri,  ///< CRI ContainerConfig.
    kOci,  ///< OCI config.json. Mount points are not looked for in the image.
  };
  struct Parts {
    DeviceAdmission& devices;
    host::Host& machine;
    std::string image_dir;
    std::vector<std::string> cdi_directories;
  };
  /// `answer`: {"admitted":true,"containers":[{"name":…,"config":{…}}, …]}, an "error" in the
  /// place of a config that cannot be made; or {"admitted":false,"reason":…,"message":…}.
  using Done = std::function<void(Value answer)>;

  explicit Trials(Parts parts) : parts_(std::move(parts)) {}
  Trials(const Trials&) = delete;
  Trials& operator=(const Trials&) = delete;

  /// `done` runs once, in a later turn, unless this is destroyed first. Requires: nobody else has
  /// a pod of this uid.
  void Start(pod::Pod pod, Format format, Done done);

 private:
  struct Trial {
    pod::Pod pod;
    Format format;
    Done done;
    size_t next = 0;  ///< Of Containers().
    Value containers = Value::Array();
  };
  using Handle = std::list<Trial>::iterator;

  static std::vector<const pod::Container*> Containers(const pod::Pod& pod);
  void PrepareNext(Handle trial);
  Result<Value> Configure(const Trial& trial, const pod::Container& container,
                          const Result<ContainerAllocation>& allocation) const;
  void End(Handle trial, Value answer);

  const Parts parts_;
  std::list<Trial> trials_;
  /// Expires with this object: the device manager's answers may come later.
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace tenon::kubelet
