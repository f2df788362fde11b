// Whatever stands in /sys, an attribute is short, a device path stays in /dev, an id is an id.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "device/device.h"
#include "discovery/sysfs.h"
#include "host/host.h"

namespace {

/// Every file has the same content, every directory no entries.
class OneTextHost final : public tenon::host::Host {
 public:
  explicit OneTextHost(std::string_view text) : text_(text) {}
  tenon::Result<tenon::host::FileStat> Stat(const std::string&) override { return {{}}; }
  tenon::Result<tenon::host::FileStat> StatLink(const std::string&) override { return {{}}; }
  tenon::Result<std::string> RealPath(const std::string& path) override { return path; }
  tenon::Result<std::vector<std::string>> List(const std::string&) override {
    return std::vector<std::string>{};
  }
  tenon::Result<std::string> Read(const std::string&, size_t most) override {
    return std::string(text_.substr(0, most));
  }
  std::string HostPath(const std::string& path) const override { return path; }

 private:
  const std::string_view text_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  namespace discovery = tenon::discovery;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  OneTextHost host(text);

  const std::string attribute = discovery::ReadAttribute(host, "/sys/devices/x", "serial");
  TENON_CHECK(attribute.size() <= 4096);
  const std::string path = discovery::DevicePath(host, "/sys/devices/x");
  TENON_CHECK(path.empty() || path.starts_with("/dev/"));
  TENON_CHECK(path.find("/../") == std::string::npos && !path.ends_with("/.."));
  for (int numa_node : discovery::NumaNodes(host, "/sys/devices/x"))
    TENON_CHECK(numa_node >= 0);
  for (char c : tenon::MakeDeviceId(attribute).value)
    TENON_CHECK(c > ' ' && c < 0x7f);
  const size_t half = size / 2;
  if (discovery::WildcardMatches(text.substr(0, half), text.substr(half)))
    TENON_CHECK(discovery::WildcardMatches("*", text.substr(half)));
  TENON_CHECK(!discovery::IsPciAddress(text) || text.size() <= 16);
  TENON_CHECK(!discovery::IsUsbPort(text) || text.find('-') != std::string_view::npos);
  return 0;
}
