#include "pod/manifest.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "device/resource_name.h"
#include "pod/fields.h"
#include "value/value.h"

namespace tenon::pod {
namespace {

constexpr std::string_view kAlphanumeric =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Source: apimachinery validation.IsDNS1123Label.
bool IsDnsLabel(std::string_view text) {
  return IsDnsSubdomain(text, 63) && text.find('.') == std::string_view::npos;
}

bool IsLabelText(std::string_view text) {
  const auto outer = [](char c) { return kAlphanumeric.find(c) != std::string_view::npos; };
  return !text.empty() && text.size() <= 63 && outer(text.front()) && outer(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [outer](char c) { return outer(c) || c == '-' || c == '_' || c == '.'; });
}

/// Source: apimachinery validation.IsQualifiedName.
bool IsQualifiedName(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsLabelText(text);
  return IsDnsSubdomain(text.substr(0, slash)) && IsLabelText(text.substr(slash + 1));
}

/// Source: core validation.IsEnvVarName with relaxed rules: printable ASCII except "=".
bool IsEnvName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

bool IsUid(std::string_view text) {
  return text.size() <= 63 && IsLabelText(text) && text.find_first_of("._") == text.npos;
}

/// Accepted and passed on, but not enforced; docs/pods.md says so.
bool IsComputeResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage";
}

std::string InBrackets(std::string_view key) {
  return "[" + std::string(key) + "]";
}

class ManifestReader final {
 public:
  ManifestReader(std::string_view file, const std::function<std::string()>& new_uid)
      : problems_(file), new_uid_(new_uid) {}

  Pod ReadPod(const Value& document);
  Problems& problems() { return problems_; }

 private:
  using Quantities = std::map<std::string, Quantity>;

  void ReadMetadata(Fields metadata, Pod& pod);
  void CheckNames(Fields& metadata, std::string_view key,
                  const std::map<std::string, std::string>& map, bool values_too);
  void ReadSpec(Fields spec, Pod& pod);
  static RestartPolicy ReadRestartPolicy(Fields& spec);
  Container ReadContainer(const Value& value, const std::string& path, bool is_init);
  static bool ReadSidecar(Fields& container, bool is_init);
  void ReadEnv(Fields& container, std::vector<EnvVar>& env);
  void ReadResources(Fields resources, Container& container);
  Quantities ReadQuantities(Fields& resources, std::string_view key);
  void CheckExtended(Fields& limits, Fields& requests, Container& container);

  Problems problems_;
  const std::function<std::string()>& new_uid_;
};

Pod ManifestReader::ReadPod(const Value& document) {
  Pod pod;
  Fields root(problems_, &document, document.mark(), "");
  if (!document.is_object()) return pod;
  if (const std::string version = root.RequiredText("apiVersion", "apiVersion: v1");
      !version.empty() && version != "v1") {
    root.Complain("apiVersion", "must be v1");
  }
  if (const std::string kind = root.RequiredText("kind", "kind: Pod");
      !kind.empty() && kind != "Pod") {
    root.Complain("kind", "must be Pod: other kinds need a cluster");
  }
  const Value* metadata = root.Get("metadata");
  ReadMetadata(
      Fields(problems_, metadata, metadata ? metadata->mark() : document.mark(), "metadata"), pod);
  const Value* spec = root.Get("spec");
  ReadSpec(Fields(problems_, spec, spec ? spec->mark() : document.mark(), "spec"), pod);
  root.Finish();
  return pod;
}

void ManifestReader::CheckNames(Fields& metadata, std::string_view key,
                                const std::map<std::string, std::string>& map, bool values_too) {
  for (const auto& [name, value] : map) {
    if (!IsQualifiedName(name)) {
      metadata.Complain(key, "\"" + base::EscapeForLine(name) +
                                 "\" must be a name such as app or example.com/app");
    }
    if (values_too && !value.empty() && !IsLabelText(value)) {
      metadata.Complain(key, "the value of \"" + base::EscapeForLine(name) +
                                 "\" must be at most 63 letters, digits, -, _ and ., beginning "
                                 "and ending with a letter or digit");
    }
  }
}

void ManifestReader::ReadMetadata(Fields metadata, Pod& pod) {
  pod.name = metadata.RequiredText("name", "the pod's name");
  if (!pod.name.empty() && !IsDnsSubdomain(pod.name)) {
    metadata.Complain("name",
                      "must be lower-case letters, digits, - and ., beginning and ending "
                      "with a letter or digit, such as camera-1");
  }
  if (metadata.Get("namespace")) {
    pod.namespace_name = metadata.RequiredText("namespace", "a namespace, or leave it out");
    if (!pod.namespace_name.empty() && !IsDnsLabel(pod.namespace_name)) {
      metadata.Complain("namespace", "must be at most 63 lower-case letters, digits and -");
    }
  }
  if (metadata.Get("uid")) {
    pod.uid = metadata.RequiredText("uid", "a UUID, or leave it out");
    if (!pod.uid.empty() && !IsUid(pod.uid)) {
      metadata.Complain("uid", "must be a UUID, or be left out");
    }
  } else {
    pod.uid = new_uid_();
  }
  pod.labels = metadata.TextMap("labels");
  CheckNames(metadata, "labels", pod.labels, /*values_too=*/true);
  pod.annotations = metadata.TextMap("annotations");
  CheckNames(metadata, "annotations", pod.annotations, /*values_too=*/false);
  metadata.Finish();
}

void ManifestReader::ReadSpec(Fields spec, Pod& pod) {
  std::set<std::string> names;
  const auto read_into = [this, &names](std::vector<Container>& containers, bool is_init) {
    return [this, &names, &containers, is_init](const Value& item, const std::string& path) {
      containers.push_back(ReadContainer(item, path, is_init));
      const std::string& name = containers.back().name;
      if (!name.empty() && !names.insert(name).second) {
        Fields(problems_, &item, item.mark(), path)
            .Complain("name", "another container is called " + name + ": write a different name");
      }
    };
  };
  spec.EachItem("initContainers", read_into(pod.init_containers, /*is_init=*/true));
  spec.EachItem("containers", read_into(pod.containers, /*is_init=*/false));
  if (const Value* containers = spec.Get("containers");
      !containers || (containers->is_array() && containers->items().empty())) {
    spec.Complain("containers", "is required: write at least one container");
  }
  pod.restart_policy = ReadRestartPolicy(spec);
  if (const auto grace = spec.Number("terminationGracePeriodSeconds")) {
    if (*grace < 0 || *grace > 86400) {
      spec.Complain("terminationGracePeriodSeconds", "must be 0 to 86400");
    }
    pod.termination_grace = std::chrono::seconds(*grace);
  }
  spec.Finish();
}

RestartPolicy ManifestReader::ReadRestartPolicy(Fields& spec) {
  if (!spec.Get("restartPolicy")) return RestartPolicy::kAlways;  // The API's default.
  const std::string text = spec.Text("restartPolicy");
  for (const RestartPolicy policy :
       {RestartPolicy::kAlways, RestartPolicy::kOnFailure, RestartPolicy::kNever}) {
    if (RestartPolicyName(policy) == text) return policy;
  }
  spec.Complain("restartPolicy", "must be Always, OnFailure or Never");
  return RestartPolicy::kAlways;
}

Container ManifestReader::ReadContainer(const Value& value, const std::string& path, bool is_init) {
  Container out;
  Fields container(problems_, &value, value.mark(), path);
  if (!value.is_object()) return out;
  out.name = container.RequiredText("name", "the container's name");
  if (!out.name.empty() && !IsDnsLabel(out.name)) {
    container.Complain("name",
                       "must be at most 63 lower-case letters, digits and -, beginning "
                       "and ending with a letter or digit");
  }
  out.image = container.RequiredText("image", "a directory below --image-dir, or an absolute path");
  out.command = container.TextList("command");
  out.args = container.TextList("args");
  out.working_dir = container.Text("workingDir");
  if (!out.working_dir.empty() && !out.working_dir.starts_with('/')) {
    container.Complain("workingDir", "must be an absolute path");
  }
  ReadEnv(container, out.env);
  ReadResources(Fields(problems_, container.Get("resources"), value.mark(), path + ".resources"),
                out);
  out.sidecar = ReadSidecar(container, is_init);
  container.Finish();
  return out;
}

/// Source: kubernetes pkg/apis/core/validation, validateInitContainers.
bool ManifestReader::ReadSidecar(Fields& container, bool is_init) {
  if (!container.Get("restartPolicy")) return false;
  if (!is_init) {
    container.Complain("restartPolicy",
                       "is for init containers, which it makes sidecars: remove it, or write "
                       "spec.restartPolicy");
  } else if (container.Text("restartPolicy") != "Always") {
    container.Complain("restartPolicy", "must be Always, which makes a sidecar, or be left out");
  }
  return is_init;
}

void ManifestReader::ReadEnv(Fields& container, std::vector<EnvVar>& env) {
  container.EachItem("env", [this, &env](const Value& item, const std::string& path) {
    Fields variable(problems_, &item, item.mark(), path);
    if (!item.is_object()) return;
    EnvVar out{.name = variable.RequiredText("name", "the variable's name"),
               .value = variable.Text("value")};
    if (!out.name.empty() && !IsEnvName(out.name)) {
      variable.Complain("name", "must be printable ASCII without =");
    }
    if (variable.Get("valueFrom")) {
      variable.Complain("valueFrom", "is not supported: write value");
    }
    variable.Finish();
    env.push_back(std::move(out));
  });
}

void ManifestReader::ReadResources(Fields resources, Container& container) {
  container.limits = ReadQuantities(resources, "limits");
  container.requests = ReadQuantities(resources, "requests");
  const Value* limits = resources.Get("limits");
  const Value* requests = resources.Get("requests");
  const Mark none;
  Fields limit_fields(problems_, limits, limits ? limits->mark() : none,
                      resources.PathOf("limits"));
  Fields request_fields(problems_, requests, requests ? requests->mark() : none,
                        resources.PathOf("requests"));
  CheckExtended(limit_fields, request_fields, container);
  for (const auto& [name, limit] : container.limits)
    container.requests.emplace(name, limit);
  resources.Finish();
}

/// Source of the texts: kubernetes pkg/apis/core/validation, ValidateContainerResourceRequirements.
void ManifestReader::CheckExtended(Fields& limits, Fields& requests, Container& container) {
  for (const auto& [name, request] : container.requests) {
    const auto limit = container.limits.find(name);
    if (IsComputeResource(name)) {
      if (limit != container.limits.end() && request > limit->second) {
        requests.Complain(
            name, "must be less than or equal to " + name + " limit of " + limit->second.text());
      }
    } else if (limit == container.limits.end()) {
      requests.Complain(name, "Limit must be set for non overcommitable resources");
    } else if (request != limit->second) {
      requests.Complain(name, "must be equal to " + name + " limit of " + limit->second.text());
    }
  }
  for (auto* map : {&container.limits, &container.requests}) {
    for (const auto& [name, quantity] : *map) {
      if (IsComputeResource(name) || quantity.is_whole()) continue;
      (map == &container.limits ? limits : requests).Complain(name, "must be an integer");
    }
  }
}

ManifestReader::Quantities ManifestReader::ReadQuantities(Fields& resources, std::string_view key) {
  Quantities out;
  const Value* value = resources.Get(key);
  if (!value) return out;
  if (!value->is_object()) {
    resources.Complain(key, "must be a mapping, not " + std::string(value->KindName()));
    return out;
  }
  std::set<std::string_view> seen;
  for (const Value::Member& member : value->members()) {
    const std::string path = resources.PathOf(key) + InBrackets(member.key);
    if (!seen.insert(member.key).second) {
      problems_.Add(member.key_mark, path, "is there twice: remove one");
      continue;
    }
    if (auto name = ResourceName::Parse(member.key); !name && !IsComputeResource(member.key)) {
      problems_.Add(member.key_mark, path,
                    "doesn't follow extended resource name standard: " + name.error().message());
      continue;
    }
    const std::optional<std::string> text = member.value.AsString();
    if (!text) {
      problems_.Add(member.value.mark(), path, "must be a quantity such as 1");
      continue;
    }
    if (auto quantity = Quantity::Parse(*text)) {
      out.emplace(member.key, *std::move(quantity));
    } else {
      problems_.Add(member.value.mark(), path, quantity.error().message());
    }
  }
  return out;
}

Result<std::vector<Value>> ParseDocuments(std::string_view text, std::string_view name) {
  // JSON first: YAML readers stumble over some of its escapes.
  if (text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size())).starts_with('{')) {
    if (auto json = ParseJson(text, name)) {
      std::vector<Value> out;
      out.push_back(*std::move(json));
      return out;
    }
  }
  return ParseYaml(text, name);
}

}  // namespace

Manifest ParseManifest(std::string_view text, std::string_view name,
                       const std::function<std::string()>& new_uid) {
  Manifest out;
  auto documents = ParseDocuments(text, name);
  if (!documents) {
    out.problems.push_back(documents.error().message());
    return out;
  }
  ManifestReader reader(name, new_uid);
  std::set<std::string> names;
  for (const Value& document : *documents) {
    out.pods.push_back(reader.ReadPod(document));
    const Pod& pod = out.pods.back();
    if (!pod.name.empty() && !names.insert(pod.FullName()).second) {
      reader.problems().Add(document.mark(), "metadata.name",
                            "another pod in this file is called " + pod.FullName());
    }
  }
  if (documents->empty()) reader.problems().Add({1, 1}, "", "holds no pod");
  out.problems = reader.problems().texts();
  if (!out.problems.empty()) out.pods.clear();
  return out;
}

}  // namespace tenon::pod
