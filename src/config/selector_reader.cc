#include "config/selector_reader.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace tenon::config {
namespace {

bool IsHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

std::string LowerCase(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// Reads hex digits exactly as they stand: 0451 and 1e04 are no numbers of another base. "0x" in
/// front is allowed. The count of digits has to be one of `lengths`.
std::string ReadHex(const StrictMapping& mapping, std::string_view key,
                    const std::vector<size_t>& lengths, Faults& faults) {
  const std::string* text = mapping.Text(key);
  if (text == nullptr) return {};
  std::string digits = LowerCase(*text);
  if (digits.starts_with("0x")) digits.erase(0, 2);
  const bool fits = std::ranges::find(lengths, digits.size()) != lengths.end();
  if (fits && std::ranges::all_of(digits, IsHexDigit)) return digits;
  std::string wanted;
  for (size_t length : lengths)
    wanted.append(wanted.empty() ? "" : " or ").append(std::to_string(length));
  std::string way_out = "; write " + wanted + " hex digits";
  if (const size_t colon = digits.find(':'); colon != std::string::npos) {
    way_out = "; write what is before the \":\" here, and the rest as a key of its own";
  } else if (!digits.empty() && digits.size() < lengths.front() &&
             std::ranges::all_of(digits, IsHexDigit)) {
    way_out += ", as in " + std::string(lengths.front() - digits.size(), '0') + digits;
  }
  faults.Add(mapping.Find(key)->mark(), std::string(key) + " " + Quoted(*text) + way_out);
  return {};
}

/// A name of the kernel's: no "/", no spaces, nothing to fill a log with.
bool IsKernelName(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text != "." && text != ".." &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.' || c == ':' || c == '+';
         });
}

std::string ReadName(const StrictMapping& mapping, std::string_view key, std::string_view example,
                     Faults& faults) {
  const std::string* text = mapping.Text(key);
  if (text == nullptr) return {};
  if (!IsKernelName(*text))
    faults.Add(mapping.Find(key)->mark(), std::string(key) + " " + Quoted(*text) +
                                              ": no name of the kernel's; write one as in " +
                                              std::string(example));
  return *text;
}

/// "1-1.4": a bus, and the ports on the way.
bool IsUsbPort(std::string_view text) {
  const size_t dash = text.find('-');
  auto is_number = [](std::string_view part) {
    return !part.empty() && part.size() <= 3 &&
           std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  return dash != std::string_view::npos && is_number(text.substr(0, dash)) &&
         std::ranges::all_of(base::Split(text.substr(dash + 1), '.'), is_number);
}

std::string ReadPciAddress(const StrictMapping& mapping, std::string_view key, Faults& faults) {
  const std::string* text = mapping.Text(key);
  if (text == nullptr) return {};
  std::string address = LowerCase(*text);
  if (address.size() == 7) address.insert(0, "0000:");
  // "0000:01:00.0".
  bool fits = address.size() == 12 && address[4] == ':' && address[7] == ':' && address[10] == '.';
  for (size_t i = 0; fits && i < address.size(); ++i)
    fits = i == 4 || i == 7 || i == 10 || IsHexDigit(address[i]);
  if (!fits)
    faults.Add(mapping.Find(key)->mark(), std::string(key) + " " + Quoted(*text) +
                                              ": no PCI address; write it as in 0000:01:00.0");
  return address;
}

/// An empty selector would fit everything, which nobody means.
void RequireAny(const StrictMapping& mapping, bool any, std::string_view example, Faults& faults) {
  if (!any && !mapping.has_unknown_key())
    faults.Add(mapping.mark(),
               "this selector says nothing; write for example " + std::string(example));
}

std::optional<UsbMatch> ReadUsbMatch(const Value& value, Faults& faults) {
  constexpr std::string_view kExample = "{vendor: \"0403\", product: \"6001\"}";
  StrictMapping usb(value, {"vendor", "product", "serial", "port", "class", "interface"}, kExample,
                    faults);
  if (!usb.ok()) return std::nullopt;
  RequireAny(usb, !value.members().empty(), kExample, faults);
  UsbMatch match;
  match.vendor = ReadHex(usb, "vendor", {4}, faults);
  match.product = ReadHex(usb, "product", {4}, faults);
  match.device_class = ReadHex(usb, "class", {2}, faults);
  match.interface = ReadHex(usb, "interface", {2}, faults);
  if (const std::string* serial = usb.Text("serial")) {
    if (serial->empty())
      faults.Add(usb.Find("serial")->mark(),
                 "serial is empty; leave it out, or write \"*\" for any");
    match.serial = *serial;
  }
  if (const std::string* port = usb.Text("port")) {
    if (!IsUsbPort(*port))
      faults.Add(usb.Find("port")->mark(),
                 "port " + Quoted(*port) + "; write the bus and the ports, as in 1-1.4");
    match.port = *port;
  }
  if (!match.product.empty() && match.vendor.empty() && !usb.has_unknown_key() &&
      usb.Find("vendor") == nullptr)
    faults.Add(usb.KeyMark("product"),
               "\"product\" without \"vendor\"; add it, each vendor counts for itself");
  return match;
}

std::optional<PciMatch> ReadPciMatch(const Value& value, Faults& faults) {
  constexpr std::string_view kExample = "{vendor: \"15b3\", device: \"1018\"}";
  StrictMapping pci(value, {"vendor", "device", "class", "driver", "address", "virtual", "of"},
                    kExample, faults);
  if (!pci.ok()) return std::nullopt;
  RequireAny(pci, !value.members().empty(), kExample, faults);
  PciMatch match;
  match.vendor = ReadHex(pci, "vendor", {4}, faults);
  match.device = ReadHex(pci, "device", {4}, faults);
  match.pci_class = ReadHex(pci, "class", {2, 4, 6}, faults);
  match.driver = ReadName(pci, "driver", "vfio-pci", faults);
  match.address = ReadPciAddress(pci, "address", faults);
  match.physical_function = ReadPciAddress(pci, "of", faults);
  if (pci.Find("virtual") != nullptr) match.is_virtual = pci.Flag("virtual");
  return match;
}

/// One selector or a list of them.
template <class Match>
std::vector<Match> ReadAnyOf(const Value& value, Faults& faults,
                             std::optional<Match> (*read)(const Value&, Faults&)) {
  std::vector<Match> matches;
  if (!value.is_array()) {
    if (auto match = read(value, faults)) matches.push_back(*std::move(match));
    return matches;
  }
  if (value.items().empty()) faults.Add(value.mark(), "an empty list; write a selector in it");
  for (const Value& item : value.items())
    if (auto match = read(item, faults)) matches.push_back(*std::move(match));
  return matches;
}

/// A relative path below a device: "device/name".
bool IsAttributePath(std::string_view path) {
  return path.size() <= 256 && std::ranges::all_of(base::Split(path, '/'), IsKernelName);
}

/// What the variables or annotations of a virtual device may be called, or an empty text.
std::string_view NameFault(std::string_view key, std::string_view name) {
  auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (key == "env") {
    const bool fits =
        !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, is_word);
    return fits ? "" : "write letters, digits and \"_\", a letter first";
  }
  if (name.starts_with("cdi.k8s.io/")) return "annotations of CDI are made by \"cdi\" only";
  const bool fits =
      !name.empty() && name.size() <= 253 + 64 && std::ranges::all_of(name, [&](char c) {
        return is_word(c) || c == '-' || c == '.' || c == '/';
      });
  return fits ? "" : "write a name as in example.com/key";
}

std::map<std::string, std::string> ReadStrings(const StrictMapping& mapping, std::string_view key,
                                               Faults& faults) {
  std::map<std::string, std::string> strings;
  const Value* value = mapping.Find(key);
  if (value == nullptr) return strings;
  if (!value->is_object()) {
    faults.Add(value->mark(), Quoted(key) + " must be a mapping, this is " +
                                  std::string(value->KindName()) + "; write {NAME: text}");
    return strings;
  }
  for (const Value::Member& member : value->members()) {
    auto text = member.value.AsString();
    if (!text)
      faults.Add(member.value.mark(), Quoted(member.key) + " must be text, this is " +
                                          std::string(member.value.KindName()));
    if (std::string_view fault = NameFault(key, member.key); !fault.empty())
      faults.Add(member.key_mark, Quoted(member.key) + "; " + std::string(fault));
    if (text && !strings.emplace(member.key, *text).second)
      faults.Add(member.key_mark, "key " + Quoted(member.key) + " occurs twice; keep one of them");
  }
  return strings;
}

}  // namespace

std::optional<UsbRule> ReadUsb(const Value& value, std::vector<std::string> nodes, Faults& faults) {
  UsbRule rule{.any_of = ReadAnyOf<UsbMatch>(value, faults, &ReadUsbMatch),
               .subsystems = std::move(nodes)};
  if (rule.any_of.empty()) return std::nullopt;
  return rule;
}

std::optional<PciRule> ReadPci(const Value& value, std::vector<std::string> nodes, Faults& faults) {
  PciRule rule{.any_of = ReadAnyOf<PciMatch>(value, faults, &ReadPciMatch),
               .subsystems = std::move(nodes)};
  if (rule.any_of.empty()) return std::nullopt;
  rule.vfio = std::erase(rule.subsystems, "vfio") > 0;
  if (rule.vfio && !rule.subsystems.empty())
    faults.Add(
        value.mark(),
        "\"vfio\" and another kind in \"nodes\"; a function that is bound to vfio-pci has no "
        "other device nodes");
  return rule;
}

std::optional<SysfsRule> ReadSysfs(const Value& value, Faults& faults) {
  constexpr std::string_view kExample = "{subsystem: drm, name: \"renderD*\"}";
  StrictMapping sysfs(value, {"subsystem", "name", "attributes", "together"}, kExample, faults);
  if (!sysfs.ok()) return std::nullopt;
  SysfsRule rule;
  if (sysfs.Find("subsystem") == nullptr && !sysfs.has_unknown_key())
    faults.Add(sysfs.mark(),
               "\"subsystem\" is missing; write for example " + std::string(kExample));
  rule.subsystem = ReadName(sysfs, "subsystem", "drm", faults);
  if (const std::string* name = sysfs.Text("name")) rule.name = *name;
  rule.together = sysfs.Flag("together");
  const Value* attributes = sysfs.Find("attributes");
  if (attributes == nullptr) return rule;
  if (!attributes->is_object())
    faults.Add(attributes->mark(), "\"attributes\" must be a mapping; write {device/name: text}");
  for (const Value::Member& member : attributes->members()) {
    auto text = member.value.AsString();
    if (!IsAttributePath(member.key))
      faults.Add(member.key_mark,
                 "attribute " + Quoted(member.key) +
                     "; write a path below the device's directory, as in device/name");
    else if (!text)
      faults.Add(member.value.mark(), "attribute " + Quoted(member.key) +
                                          " must be text, this is " +
                                          std::string(member.value.KindName()));
    else
      rule.attributes.emplace_back(member.key, *std::move(text));
  }
  return rule;
}

std::optional<VirtualRule> ReadVirtual(const Value& value, Faults& faults) {
  StrictMapping source(value, {"count", "env", "annotations"}, "\"virtual: {count: 4}\"", faults);
  if (!source.ok()) return std::nullopt;
  if (source.Find("count") == nullptr && !source.has_unknown_key())
    faults.Add(source.mark(), "\"count\" is missing; add \"count:\" and a number from 1 to " +
                                  std::to_string(kMaxVirtualDevices));
  VirtualRule rule;
  rule.env = ReadStrings(source, "env", faults);
  rule.annotations = ReadStrings(source, "annotations", faults);
  auto count = source.Number("count", 1, kMaxVirtualDevices);
  if (!count) return std::nullopt;
  rule.count = *count;
  return rule;
}

}  // namespace tenon::config
