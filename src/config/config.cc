#include "config/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <utility>

#include "base/errno_error.h"
#include "base/strings.h"
#include "base/unique_fd.h"
#include "config/allowed_paths.h"
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

/// What CDI asks of a vendor and of a class beyond what a resource name is.
/// Source: container-device-interface pkg/parser, validateVendorOrClassName.
bool IsCdiPart(std::string_view text) {
  const char first = text.front();
  return text.size() > 1 && ((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z'));
}

/// Reads the document of a file from the top down.
class DocumentReader final {
 public:
  DocumentReader(const AllowedPaths& allowed, const std::vector<std::string>& allow_exec,
                 Faults& faults)
      : faults_(faults), programs_(allow_exec, faults), rules_(allowed, programs_, faults) {}

  Config Read(const Value& document);

 private:
  void ReadDomain(const StrictMapping& top);
  void ReadResource(const Value& value);
  std::optional<ResourceName> ReadName(const StrictMapping& resource);
  std::optional<policy::Preference> ReadPreference(const StrictMapping& resource);
  ResourcePrograms ReadPrograms(const StrictMapping& resource, int64_t share);
  Cdi ReadCdi(const StrictMapping& resource, const std::optional<ResourceName>& name);
  void CheckVirtualCount(const ResourceConfig& resource);

  Faults& faults_;
  ProgramReader programs_;
  RuleReader rules_;
  Config config_;
  std::map<ResourceName, Mark> names_;
};

Config DocumentReader::Read(const Value& document) {
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
  return std::move(config_);
}

void DocumentReader::ReadDomain(const StrictMapping& top) {
  const Value* value = top.Find("domain");
  // Stands in for a domain that is no use, so that the names are checked all the same.
  config_.domain = "example.com";
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
    config_.domain = *text;
  }
}

void DocumentReader::ReadResource(const Value& value) {
  StrictMapping resource(value,
                         {"name", "devices", "share", "prefer", "onAllocate", "onRelease",
                          "preStart", "health", "cdi"},
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
  if (!name) return;
  config_.resources.push_back({*std::move(name), value.mark(), std::move(devices), share, prefer,
                               std::move(programs), cdi});
  CheckVirtualCount(config_.resources.back());
}

std::optional<ResourceName> DocumentReader::ReadName(const StrictMapping& resource) {
  if (resource.Find("name") == nullptr && !resource.has_unknown_key())
    faults_.Add(resource.mark(), "\"name\" is missing; add \"name: serial\" or the like");
  const std::string* text = resource.Text("name");
  if (text == nullptr) return std::nullopt;
  Mark mark = resource.Find("name")->mark();
  bool is_full = text->find('/') != std::string::npos;
  auto name = ResourceName::Parse(is_full ? *text : config_.domain + "/" + *text);
  if (!name) {
    faults_.Add(mark, name.error().message());
    return std::nullopt;
  }
  auto [first, is_first] = names_.emplace(*name, mark);
  if (!is_first)
    faults_.Add(mark, "resource " + name->text() + " exists already, in line " +
                          std::to_string(first->second.line) +
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

ConfigOutcome Refused(std::string error) {
  return {std::nullopt, {std::move(error)}};
}

Result<std::string> ReadFile(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return base::ErrnoError("open", path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return base::ErrnoError("stat", path);
  if (S_ISDIR(status.st_mode))
    return Error(Code::kInvalidArgument, path + ": a directory; name the file in it");
  if (!S_ISREG(status.st_mode))
    return Error(Code::kInvalidArgument, path + ": not a regular file; name a text file");
  std::string text(kMaxFileBytes + 1, '\0');
  size_t length = 0;
  while (length < text.size()) {
    ssize_t count = ::read(fd.get(), text.data() + length, text.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::ErrnoError("read", path);
    if (count == 0) break;
    length += static_cast<size_t>(count);
  }
  if (length > kMaxFileBytes)
    return Error(Code::kInvalidArgument, path + ": more than " + std::to_string(kMaxFileBytes) +
                                             " bytes; a configuration is smaller");
  text.resize(length);
  return text;
}

}  // namespace

ConfigOutcome Load(std::string_view text, std::string_view file, const LoadOptions& options) {
  auto allowed = AllowedPaths::Parse(options.allow_paths);
  if (!allowed) return Refused(allowed.error().message());
  auto documents = ParseYaml(text, file, kLimits);
  if (!documents) return Refused(documents.error().message());
  if (documents->empty())
    return Refused(PlaceText(file, {1, 1}) +
                   ": empty; begin it with \"domain: example.com\" and \"resources:\"");
  Faults faults(file);
  Config config = DocumentReader(*allowed, options.allow_exec, faults).Read(documents->front());
  if (documents->size() > 1)
    faults.Add((*documents)[1].mark(),
               "a second document; remove the \"---\" above it, all resources stand in one list");
  if (!faults.empty()) return {std::nullopt, faults.Texts()};
  return {std::move(config), {}};
}

ConfigOutcome LoadFile(const std::string& path, const LoadOptions& options) {
  auto text = ReadFile(path);
  if (!text) return Refused(text.error().message());
  return Load(*text, path, options);
}

}  // namespace tenon::config
