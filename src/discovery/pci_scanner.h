#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "discovery/node_options.h"
#include "discovery/scanner.h"

namespace tenon::discovery {

/// Which PCI functions; what is empty does not matter. Numbers are lower-case hex digits.
struct PciSelector {
  std::string vendor;              ///< "15b3"
  std::string device;              ///< "1018"
  std::string address;             ///< "0000:01:00.0", exactly.
  std::string driver;              ///< "vfio-pci"
  std::string pci_class;           ///< "02", "0200" or "020000": its first digits.
  std::string physical_function;   ///< The address of the function that it is a virtual one of.
  std::optional<bool> is_virtual;  ///< Whether it is an SR-IOV virtual function.
  bool operator==(const PciSelector&) const = default;
};

struct PciOptions {
  std::vector<PciSelector> any_of;
  /// Of the child device nodes that are offered. Without any a device is its address in the
  /// environment and nothing else.
  std::vector<std::string> subsystems;
  bool vfio = false;  ///< Offers the device node of its IOMMU group.
  NodeOptions nodes;
};

/// Finds PCI functions by what they are. The id is the address.
///
/// With VFIO a whole IOMMU group is one device, by its lowest address, as the kernel gives it to
/// one user at a time and whoever has it reaches every function in it. So all functions of a group
/// but bridges have to be matched, and to be bound to vfio-pci; else it is unhealthy.
/// Source: Linux Documentation/driver-api/vfio.rst.
class PciScanner final : public Scanner {
 public:
  explicit PciScanner(PciOptions options) : options_(std::move(options)) {}

  Scan Look(host::Host& host) override;
  bool needs_uevents() const override { return true; }
  bool Concerns(const host::Uevent& event) const override;

 private:
  struct Function {
    std::string address;
    std::string directory;  ///< Real path.
  };

  std::vector<Function> FindFunctions(host::Host& host) const;
  bool Fits(host::Host& host, const PciSelector& selector, const Function& function) const;
  void AddFunction(host::Host& host, const Function& function, Scan& scan) const;
  void AddGroup(host::Host& host, const std::string& group,
                const std::vector<const Function*>& matched, Scan& scan) const;

  const PciOptions options_;
};

}  // namespace tenon::discovery
