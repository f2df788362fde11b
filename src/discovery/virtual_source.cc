#include "discovery/virtual_source.h"

#include <utility>

namespace tenon::discovery {

void VirtualSource::Start(ReportFn report) {
  report_ = std::move(report);
  Rescan();
}

void VirtualSource::Rescan() {
  Snapshot devices;
  for (int64_t i = 0; i < options_.count; ++i) {
    FoundDevice device;
    device.id = MakeDeviceId(options_.prefix + "-" + std::to_string(i));
    device.env = options_.env;
    device.annotations = options_.annotations;
    devices.push_back(std::make_shared<const FoundDevice>(std::move(device)));
  }
  ReportFn report = report_;  // The call may destroy this.
  report(std::move(devices));
}

}  // namespace tenon::discovery
