#include "config/config.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "base/strings.h"
#include "config/allowed_paths.h"
#include "config/files.h"
#include "config/offered.h"
#include "config/program_reader.h"
#include "config/rule_reader.h"
#include "config/strict_mapping.h"

namespace tenon::config {
namespace {

constexpr ParseLimits kLimits{.bytes = kMaxFileBytes, .depth = 16, .values = 100'000};
constexpr size_t kMaxDomainBytes = 244;
constexpr int64_t kMostHookTimeout = 600;
/// A kubelet waits 30 s. Source: pluginapi.KubeletPreStartContainerRPCTimeoutInSecs.
constexpr int64_t kMostPreStartTimeout = 25;
constexpr int64_t kHealthEvery = 60;
constexpr int64_t kMostOpenEvery = 86'400;
/// Where opening a device node for reading does nothing, but with "tty", which docs/config.md says.
constexpr std::array<std::string_view, 8> kOpened = {
    "drm", "hidraw", "i2c-dev", "infiniband_verbs", "input", "tty", "usb", "video4linux"};

/// What CDI asks of a vendor and of a class beyond what a resource name is.
/// Source: container-device-interface pkg/parser, validateVendorOrClassName.
bool IsCdiPart(std::string_view text) {
  const char first = text.front();
  return text.size() > 1 && ((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z'));
}

/// Reads the document of one file from the top down.
class DocumentReader final {
 public:
  DocumentReader(const AllowedPaths& allowed, const std::vector<std::string>& allow_exec,
                 Offered& offered, Faults& faults)
      : faults_(faults),
        offered_(offered),
        programs_(allow_exec, faults),
        rules_(allowed, programs_, offered, faults) {}

  std::vector<ResourceConfig> Read(const Value& document);

 private:
  void ReadDomain(const StrictMapping& top);
  void ReadResource(const Value& value);
  std::optional<ResourceName> ReadName(const StrictMapping& resource);
  std::optional<policy::Preference> ReadPreference(const StrictMapping& resource);
  ResourcePrograms ReadPrograms(const StrictMapping& resource, int64_t share);
  std::optional<OpenCheck> ReadOpenCheck(const StrictMapping& resource);
  Cdi ReadCdi(const StrictMapping& resource, const std::optional<ResourceName>& name);
  void CheckVirtualCount(const ResourceConfig& resource);

  Faults& faults_;
  Offered& offered_;
  ProgramReader programs_;
  RuleReader rules_;
  std::string domain_;
  std::vector<ResourceConfig> resources_;
};

std::vector<ResourceConfig> DocumentReader::Read(const Value& document) {
  StrictMapping top(document, {"domain", "resources"}, "\"domain: example.com\"", faults_);
  if (!top.ok()) return {};
  ReadDomain(top);
  if (top.Find("resources") == nullptr && !top.has_unknown_key())
    faults_.Add(document.mark(),
                "\"resources\" is missing; add \"resources:\" and below it each "
                "resource, beginning with \"- name:\"");
  if (const auto* resources = top.List("resources"))
    for (const Value& resource : *resources)
      ReadResource(resource);
  return std::move(resources_);
}

void DocumentReader::ReadDomain(const StrictMapping& top) {
  const Value* value = top.Find("domain");
  // Stands in for a domain that is no use, so that the names are checked all the same.
  domain_ = "example.com";
  if (value == nullptr) {
    if (!top.has_unknown_key())
      faults_.Add(top.mark(),
                  "\"domain\" is missing; add \"domain:\" and a DNS name that you own, it goes in "
                  "front of all resource names");
    return;
  }
  const std::string* text = top.Text("domain");
  if (text == nullptr) return;
  if (!IsDnsSubdomain(*text, kMaxDomainBytes)) {
    faults_.Add(value->mark(),
                "domain " + Quoted(*text) +
                    ": no DNS name; write lower-case letters, digits and \"-\" in labels joined by "
                    "\".\", as in example.com");
  } else if (!ResourceName::Parse(*text + "/x")) {
    faults_.Add(value->mark(), "domain " + Quoted(*text) +
                                   ": reserved by Kubernetes; write a DNS name that you own");
  } else {
    domain_ = *text;
  }
}

void DocumentReader::ReadResource(const Value& value) {
  StrictMapping resource(value,
                         {"name", "devices", "share", "prefer", "onAllocate", "onRelease",
                          "preStart", "health", "openCheck", "cdi"},
                         "\"name: serial\"", faults_);
  if (!resource.ok()) return;
  auto name = ReadName(resource);
  std::vector<DeviceRule> devices;
  if (resource.Find("devices") == nullptr && !resource.has_unknown_key())
    faults_.Add(value.mark(),
                "\"devices\" is missing; add \"devices:\" and below it each rule, as "
                "in \"- path: /dev/fuse\"");
  if (const auto* rules = resource.List("devices"))
    for (const Value& item : *rules)
      if (auto rule = rules_.Read(item)) devices.push_back(*std::move(rule));
  const int64_t share = resource.Number("share", 1, kMaxVirtualDevices).value_or(1);
  const auto prefer = ReadPreference(resource);
  ResourcePrograms programs = ReadPrograms(resource, share);
  const Cdi cdi = ReadCdi(resource, name);
  auto open_check = ReadOpenCheck(resource);
  if (!name) return;
  resources_.push_back({*std::move(name), faults_.file(), value.mark(), std::move(devices), share,
                        prefer, std::move(programs), cdi, std::move(open_check)});
  CheckVirtualCount(resources_.back());
}

std::optional<ResourceName> DocumentReader::ReadName(const StrictMapping& resource) {
  if (resource.Find("name") == nullptr && !resource.has_unknown_key())
    faults_.Add(resource.mark(), "\"name\" is missing; add \"name: serial\" or the like");
  const std::string* text = resource.Text("name");
  if (text == nullptr) return std::nullopt;
  Mark mark = resource.Find("name")->mark();
  bool is_full = text->find('/') != std::string::npos;
  auto name = ResourceName::Parse(is_full ? *text : domain_ + "/" + *text);
  if (!name) {
    faults_.Add(mark, name.error().message());
    return std::nullopt;
  }
  auto [first, is_first] = offered_.names.emplace(*name, faults_.PlaceOf(mark));
  if (!is_first)
    faults_.Add(mark, "resource " + name->text() + " exists already, in " +
                          faults_.Reference(first->second) +
                          "; put all its devices under one name");
  return *std::move(name);
}

std::optional<policy::Preference> DocumentReader::ReadPreference(const StrictMapping& resource) {
  const std::string* text = resource.Text("prefer");
  if (text == nullptr) return std::nullopt;
  if (*text == "spread") return policy::Preference::kSpread;
  if (*text == "packed") return policy::Preference::kPacked;
  if (*text == "numa") return policy::Preference::kNuma;
  faults_.Add(resource.Find("prefer")->mark(),
              "prefer " + Quoted(*text) + "; write spread, packed or numa");
  return std::nullopt;
}

ResourcePrograms DocumentReader::ReadPrograms(const StrictMapping& resource, int64_t share) {
  ResourcePrograms programs;
  programs.on_allocate = programs_.Read(resource, "onAllocate", kMostHookTimeout);
  programs.on_release = programs_.Read(resource, "onRelease", kMostHookTimeout);
  programs.pre_start = programs_.Read(resource, "preStart", kMostPreStartTimeout);
  programs.health = programs_.ReadPeriodic(resource, "health", kHealthEvery);
  if (share == 1) return programs;
  for (std::string_view key : {"onAllocate", "onRelease"})
    if (resource.Find(key) != nullptr)
      faults_.Add(resource.KeyMark(key),
                  Quoted(key) +
                      " does not go with \"share\", as a shared device has no first and "
                      "no last user; leave one of them out");
  return programs;
}

std::optional<OpenCheck> DocumentReader::ReadOpenCheck(const StrictMapping& resource) {
  const Value* value = resource.Find("openCheck");
  if (value == nullptr) return std::nullopt;
  StrictMapping check(*value, {"subsystems", "every"}, "\"subsystems: [video4linux]\"", faults_);
  if (!check.ok()) return std::nullopt;
  if (check.Find("subsystems") == nullptr && !check.has_unknown_key())
    faults_.Add(check.mark(), "\"subsystems\" is missing; add \"subsystems: [video4linux]\"");
  OpenCheck open{.subsystems = check.Texts("subsystems")};
  for (const std::string& subsystem : open.subsystems)
    if (std::ranges::find(kOpened, subsystem) == kOpened.end())
      faults_.Add(check.Find("subsystems")->mark(),
                  "subsystem " + Quoted(subsystem) +
                      " is not opened, as opening may do things there; write some of " +
                      base::Join({kOpened.begin(), kOpened.end()}, ", "));
  open.every_s = check.Number("every", 1, kMostOpenEvery).value_or(open.every_s);
  return open;
}

Cdi DocumentReader::ReadCdi(const StrictMapping& resource,
                            const std::optional<ResourceName>& name) {
  const Value* value = resource.Find("cdi");
  if (value == nullptr) return Cdi::kNo;
  const std::optional<bool> flag = value->AsBool();
  if (!flag && value->AsString() != "only") {
    faults_.Add(value->mark(), "cdi " + Shown(*value) + "; write true, false or only");
    return Cdi::kNo;
  }
  if (flag == false) return Cdi::kNo;
  if (name && !(IsCdiPart(name->domain()) && IsCdiPart(name->name())))
    faults_.Add(value->mark(),
                "cdi: in CDI both parts of " + name->text() +
                    " have to begin with a letter and to have two characters; choose other names");
  return flag ? Cdi::kAlso : Cdi::kOnly;
}

/// Each rule keeps to the limit by itself; here it is about all of a resource.
void DocumentReader::CheckVirtualCount(const ResourceConfig& resource) {
  int64_t count = 0;
  for (const DeviceRule& rule : resource.devices)
    for (const Member& member : rule.members)
      if (const auto* counter = std::get_if<VirtualRule>(&member.source)) count += counter->count;
  count *= resource.share;
  if (count > kMaxVirtualDevices)
    faults_.Add(resource.mark, "resource " + resource.name.text() + " has " +
                                   std::to_string(count) + " virtual devices; make it at most " +
                                   std::to_string(kMaxVirtualDevices) +
                                   " (a kubelet does not take a longer list)");
}

/// Reads the files of a configuration one after the other.
class FilesReader final {
 public:
  /// `options` is borrowed.
  explicit FilesReader(const LoadOptions& options)
      : options_(options), allowed_(AllowedPaths::Parse(options.allow_paths)) {
    if (!allowed_) Refuse(allowed_.error().message());
  }

  /// All files that a path stands for.
  void ReadPath(const std::string& path);
  void Read(std::string_view text, std::string_view file);
  void Refuse(std::string error) { errors_.push_back(std::move(error)); }
  /// Ends it.
  ConfigOutcome Outcome() &&;

 private:
  const LoadOptions& options_;
  const Result<AllowedPaths> allowed_;
  std::set<std::string> files_;
  Offered offered_;
  Config config_;
  std::vector<std::string> errors_;
};

void FilesReader::ReadPath(const std::string& path) {
  auto files = FilesAt(path);
  if (!files) return Refuse(files.error().message());
  for (const std::string& file : *files) {
    if (!files_.insert(file).second) {
      Refuse(file + ": named twice; leave one of them out");
    } else if (auto text = ReadFile(file)) {
      Read(*text, file);
    } else {
      Refuse(text.error().message());
    }
  }
}

void FilesReader::Read(std::string_view text, std::string_view file) {
  if (!allowed_) return;
  auto documents = ParseYaml(text, file, kLimits);
  if (!documents) return Refuse(documents.error().message());
  if (documents->empty())
    return Refuse(PlaceText(file, {1, 1}) +
                  ": empty; begin it with \"domain: example.com\" and \"resources:\"");
  Faults faults(file);
  for (ResourceConfig& resource :
       DocumentReader(*allowed_, options_.allow_exec, offered_, faults).Read(documents->front()))
    config_.resources.push_back(std::move(resource));
  if (documents->size() > 1)
    faults.Add((*documents)[1].mark(),
               "a second document; remove the \"---\" above it, all resources stand in one list");
  std::ranges::move(faults.Texts(), std::back_inserter(errors_));
}

ConfigOutcome FilesReader::Outcome() && {
  if (!errors_.empty()) return {std::nullopt, std::move(errors_)};
  return {std::move(config_), {}};
}

}  // namespace

ConfigOutcome Load(std::string_view text, std::string_view file, const LoadOptions& options) {
  FilesReader reader(options);
  reader.Read(text, file);
  return std::move(reader).Outcome();
}

ConfigOutcome LoadPaths(const std::vector<std::string>& paths, const LoadOptions& options) {
  FilesReader reader(options);
  for (const std::string& path : paths)
    reader.ReadPath(path);
  return std::move(reader).Outcome();
}

}  // namespace tenon::config
