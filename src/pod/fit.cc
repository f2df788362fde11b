#include "pod/fit.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/strings.h"
#include "device/resource_name.h"
#include "pod/quantity.h"
#include "value/value.h"

namespace tenon::pod {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

/// Counts from files may be anything; they never overflow.
int64_t AddCounts(int64_t a, int64_t b) {
  return a > kMost - b ? kMost : a + b;
}

void AddAll(ResourceCounts& into, const ResourceCounts& more) {
  for (const auto& [resource, count] : more)
    into[resource] = AddCounts(into[resource], count);
}

void RaiseAll(ResourceCounts& into, const ResourceCounts& least) {
  for (const auto& [resource, count] : least)
    into[resource] = std::max(into[resource], count);
}

class ObjectReader final {
 public:
  explicit ObjectReader(std::string_view name) : name_(name) {}

  /// Calls `read` for each object of the file.
  Result<void> Each(std::string_view text, std::string_view kind,
                    const std::function<Result<void>(const Value&)>& read) const {
    TENON_TRY(const std::vector<Value> documents, Parse(text));
    size_t objects = 0;
    for (const Value& document : documents)
      TENON_TRY_VOID(EachIn(document, kind, read, objects));
    if (objects == 0)
      return Error(Code::kInvalidArgument, std::string(name_) + ": holds no " + std::string(kind));
    return {};
  }

  Result<ScheduledPod> ReadPod(const Value& pod) const {
    ScheduledPod out{.name = NamespaceOf(pod) + "/" + TextAt(pod, {"metadata", "name"}),
                     .kube_node = TextAt(pod, {"spec", "nodeName"})};
    const std::string phase = TextAt(pod, {"status", "phase"});
    out.ended = phase == "Succeeded" || phase == "Failed";
    ResourceCounts running;  // App containers and sidecars, all of them at last.
    ResourceCounts sidecars;
    ResourceCounts most_at_start;
    for (const Value& container : ItemsAt(pod, {"spec", "initContainers"})) {
      TENON_TRY(const ResourceCounts wanted, ReadRequests(container));
      if (TextAt(container, {"restartPolicy"}) == "Always") {
        AddAll(sidecars, wanted);
        continue;
      }
      ResourceCounts at_start = sidecars;
      AddAll(at_start, wanted);
      RaiseAll(most_at_start, at_start);
    }
    for (const Value& container : ItemsAt(pod, {"spec", "containers"})) {
      TENON_TRY(const ResourceCounts wanted, ReadRequests(container));
      AddAll(running, wanted);
    }
    AddAll(running, sidecars);
    RaiseAll(running, most_at_start);
    TENON_TRY(const ResourceCounts overhead, ReadCounts(pod.At({"spec", "overhead"})));
    AddAll(running, overhead);
    out.requests = std::move(running);
    return out;
  }

  Result<KubeNode> ReadNode(const Value& node) const {
    KubeNode out{.name = TextAt(node, {"metadata", "name"})};
    TENON_TRY(out.allocatable, ReadCounts(node.At({"status", "allocatable"})));
    return out;
  }

 private:
  Result<std::vector<Value>> Parse(std::string_view text) const {
    // JSON first: YAML readers stumble over some of its escapes.
    const size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || text[begin] != '{') return ParseYaml(text, name_);
    if (auto json = ParseJson(text, name_)) return std::vector<Value>{*std::move(json)};
    return ParseYaml(text, name_);
  }

  Result<void> EachIn(const Value& object, std::string_view kind,
                      const std::function<Result<void>(const Value&)>& read,
                      size_t& objects) const {
    const std::string found = TextAt(object, {"kind"});
    if (found.ends_with("List")) return EachOf(ItemsAt(object, {"items"}), kind, read, objects);
    if (found != kind)
      return At(object, "kind must be " + std::string(kind) + " or a list of them");
    ++objects;
    return read(object);
  }

  Result<void> EachOf(const std::vector<Value>& items, std::string_view kind,
                      const std::function<Result<void>(const Value&)>& read,
                      size_t& objects) const {
    for (const Value& item : items) {
      // kubectl leaves the kind out of the items of a typed list.
      const bool is_typed = item.Find("kind") != nullptr;
      if (!is_typed) ++objects;
      TENON_TRY_VOID(is_typed ? EachIn(item, kind, read, objects) : read(item));
    }
    return {};
  }

  /// The requests of a container, and the limits of what it does not request.
  Result<ResourceCounts> ReadRequests(const Value& container) const {
    TENON_TRY(ResourceCounts out, ReadCounts(container.At({"resources", "requests"})));
    TENON_TRY(ResourceCounts limits, ReadCounts(container.At({"resources", "limits"})));
    out.merge(limits);
    return out;
  }

  /// The extended resources of a mapping; null is none.
  Result<ResourceCounts> ReadCounts(const Value* mapping) const {
    ResourceCounts out;
    if (mapping == nullptr) return out;
    for (const Value::Member& member : mapping->members()) {
      if (!ResourceName::Parse(member.key)) continue;
      auto quantity = Quantity::Parse(member.value.AsString().value_or(""));
      if (!quantity) return At(member.value, member.key + ": " + quantity.error().message());
      if (!quantity->is_whole()) return At(member.value, member.key + ": must be an integer");
      out[member.key] = quantity->whole();
    }
    return out;
  }

  static std::string NamespaceOf(const Value& pod) {
    const std::string name = TextAt(pod, {"metadata", "namespace"});
    return name.empty() ? "default" : name;
  }
  static std::string TextAt(const Value& value, std::initializer_list<std::string_view> keys) {
    const Value* found = value.At(keys);
    return found ? found->text() : "";
  }
  static const std::vector<Value>& ItemsAt(const Value& value,
                                           std::initializer_list<std::string_view> keys) {
    static const std::vector<Value> none;
    const Value* found = value.At(keys);
    return found ? found->items() : none;
  }
  Error At(const Value& value, const std::string& why) const {
    return {Code::kInvalidArgument, PlaceText(name_, value.mark()) + ": " + why};
  }

  const std::string_view name_;
};

}  // namespace

Result<std::vector<ScheduledPod>> ReadScheduledPods(std::string_view text, std::string_view name) {
  const ObjectReader reader(name);
  std::vector<ScheduledPod> out;
  TENON_TRY_VOID(reader.Each(text, "Pod", [&](const Value& object) -> Result<void> {
    TENON_TRY(ScheduledPod pod, reader.ReadPod(object));
    out.push_back(std::move(pod));
    return {};
  }));
  return out;
}

Result<std::vector<KubeNode>> ReadKubeNodes(std::string_view text, std::string_view name) {
  const ObjectReader reader(name);
  std::vector<KubeNode> out;
  TENON_TRY_VOID(reader.Each(text, "Node", [&](const Value& object) -> Result<void> {
    TENON_TRY(KubeNode node, reader.ReadNode(object));
    out.push_back(std::move(node));
    return {};
  }));
  return out;
}

std::vector<NodeFit> FitPod(const ScheduledPod& pod, const std::vector<KubeNode>& kube_nodes,
                            const std::vector<ScheduledPod>& others) {
  std::map<std::string, ResourceCounts> used;
  for (const ScheduledPod& other : others)
    if (!other.ended && !other.kube_node.empty()) AddAll(used[other.kube_node], other.requests);
  std::vector<NodeFit> out;
  for (const KubeNode& kube_node : kube_nodes) {
    NodeFit& fit = out.emplace_back(NodeFit{.kube_node = kube_node.name});
    for (const auto& [resource, requested] : pod.requests) {
      if (requested == 0) continue;
      const auto offered = kube_node.allocatable.find(resource);
      const int64_t free = (offered == kube_node.allocatable.end() ? 0 : offered->second) -
                           used[kube_node.name][resource];
      if (requested > free) fit.shortages.push_back({resource, requested, free});
    }
  }
  return out;
}

}  // namespace tenon::pod
