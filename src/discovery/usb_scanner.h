#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "discovery/node_options.h"
#include "discovery/scanner.h"

namespace tenon::discovery {

/// Which USB devices; what is empty does not matter. Numbers are lower-case hex digits.
struct UsbSelector {
  std::string vendor;        ///< "0403"
  std::string product;       ///< "6001"
  std::string serial;        ///< May contain "*".
  std::string port;          ///< "1-1.4", exactly.
  std::string device_class;  ///< "03": of the device or of one of its interfaces.
  std::string interface;     ///< "01": only child device nodes of this interface count.
  bool operator==(const UsbSelector&) const = default;
};

struct UsbOptions {
  std::vector<UsbSelector> any_of;
  /// Of the child device nodes that are offered; empty: the USB device node itself.
  std::vector<std::string> subsystems;
  NodeOptions nodes;
};

/// Finds USB devices by what they are; each physical one is one device, whatever device nodes it
/// has. The id is vendor, product and serial number; "usb-" and the port where there is no serial
/// number, where two have the same, and where the rule has several selectors, as a device that
/// changes its product number may change its serial number with it. docs/ids.md is the contract.
class UsbScanner final : public Scanner {
 public:
  explicit UsbScanner(UsbOptions options) : options_(std::move(options)) {}

  Scan Look(host::Host& host) override;
  bool needs_uevents() const override { return true; }
  bool Concerns(const host::Uevent& event) const override;

 private:
  struct Stick {
    std::string port;
    std::string directory;  ///< Real path.
    std::string vendor;
    std::string product;
    std::string serial;
    std::string device_path;  ///< "/dev/bus/usb/001/014"
    std::string interface;    ///< Of the selector that it fits.
  };

  std::vector<Stick> FindSticks(host::Host& host, Scan& scan) const;
  bool Fits(host::Host& host, const UsbSelector& selector, const Stick& stick) const;
  void RememberSerials(const std::vector<Stick>& sticks, Scan& scan);
  DeviceId IdOf(const Stick& stick) const;
  void AddDevice(host::Host& host, const Stick& stick, Scan& scan) const;
  bool AddChildren(host::Host& host, const Stick& stick, FoundDevice& device, Scan& scan) const;

  const UsbOptions options_;
  /// By serial number's id: the port whose device goes by it, or nothing if it tells nothing since
  /// two devices had it at once. An id must not change because a twin comes or goes.
  std::map<std::string, std::string> serials_;
};

}  // namespace tenon::discovery
