#include "fake_api/fake_nodes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "value/value.h"

namespace tenon::fake_api {

namespace {

Value ToObject(const std::map<std::string, std::string>& texts) {
  Value object = Value::Object();
  for (const auto& [key, text] : texts)
    object.Add(key, Value::String(text));
  return object;
}

FakeApiServer::Answer Refuse(int status, const std::string& reason, const std::string& message) {
  Value body = Value::Object();
  body.Add("kind", Value::String("Status"));
  body.Add("reason", Value::String(reason));
  body.Add("message", Value::String(message));
  body.Add("code", Value::Number(status));
  return {.status = status, .body = ToJson(body)};
}

std::string Unescape(std::string text) {
  for (size_t at = 0; (at = text.find("~1", at)) != std::string::npos;)
    text.replace(at, 2, "/");
  return text;
}

/// Applies one operation. Returns: whether it could be.
bool Apply(const Value& op, FakeNodes::Entry& entry) {
  const std::string kind = op.Find("op")->text();
  const std::string path = op.Find("path")->text();
  const Value* value = op.Find("value");
  if (path == "/status/capacity") {
    entry.has_capacity = true;
    return kind == "add" && value != nullptr && value->is_object();
  }
  const bool in_capacity = path.starts_with("/status/capacity/");
  if (!in_capacity && !path.starts_with("/status/allocatable/")) return false;
  auto& amounts = in_capacity ? entry.capacity : entry.allocatable;
  const std::string name = Unescape(path.substr(path.rfind('/') + 1));
  if (in_capacity && !entry.has_capacity) return false;
  if (kind == "add") {
    amounts[name] = value->text();
  } else if (!amounts.contains(name)) {
    return false;
  } else if (kind == "test") {
    return amounts[name] == value->text();
  } else if (kind == "replace") {
    amounts[name] = value->text();
  } else {
    amounts.erase(name);
    if (in_capacity) entry.owners.erase(name);
    return true;
  }
  if (in_capacity) entry.owners[name] = "tenon";
  return true;
}

}  // namespace

std::optional<FakeApiServer::Answer> FakeNodes::operator()(const FakeApiServer::Request& request) {
  constexpr std::string_view kNodes = "/api/v1/nodes";
  constexpr std::string_view kSelector = "fieldSelector=metadata.name%3D";
  const std::string& target = request.target;
  if (const size_t at = target.find(kSelector); at != std::string::npos) {
    if (target.find("watch=1") != std::string::npos)
      return FakeApiServer::Answer{.is_stream = true};
    return List(target.substr(at + kSelector.size()));
  }
  std::string name = target.substr(std::min(kNodes.size() + 1, target.size()));
  name = name.substr(0, name.find_first_of("/?"));
  if (!nodes.contains(name)) return Refuse(404, "NotFound", "nodes \"" + name + "\" not found");
  if (request.method == "PATCH") return Patch(name, request.body);
  return FakeApiServer::Answer{.body = Json(name)};
}

FakeApiServer::Answer FakeNodes::List(const std::string& name) const {
  return {.body = R"({"kind":"NodeList","metadata":{"resourceVersion":")" +
                  std::to_string(version) + R"("},"items":[)" +
                  (nodes.contains(name) ? Json(name) : "") + "]}"};
}

FakeApiServer::Answer FakeNodes::Patch(const std::string& name, const std::string& body) {
  patches.push_back(body);
  if (before_patch) before_patch();
  Entry changed = nodes[name];
  const auto operations = ParseJson(body, "patch");
  for (const Value& op : operations->items()) {
    if (!Apply(op, changed))
      return Refuse(422, "Invalid",
                    "the server rejected our request due to an error in our request");
  }
  nodes[name] = changed;
  Touch();
  return {.body = Json(name)};
}

std::string FakeNodes::Json(const std::string& name) const {
  const Entry& entry = nodes.at(name);
  Value metadata = Value::Object();
  metadata.Add("name", Value::String(name));
  metadata.Add("resourceVersion", Value::String(std::to_string(version)));
  Value& managers = metadata.Add("managedFields", Value::Array());
  std::map<std::string, std::vector<std::string>> owned = {{"kubelet", {"cpu"}}};
  for (const auto& [resource, manager] : entry.owners)
    owned[manager].push_back(resource);
  for (const auto& [manager, resources] : owned) {
    Value capacity = Value::Object();
    for (const std::string& resource : resources)
      capacity.Add("f:" + resource, Value::Object());
    Value status = Value::Object();
    status.Add("f:capacity", std::move(capacity));
    Value fields = Value::Object();
    fields.Add("f:status", std::move(status));
    Value& item = managers.Append(Value::Object());
    item.Add("manager", Value::String(manager));
    item.Add("operation", Value::String("Update"));
    item.Add("fieldsV1", std::move(fields));
  }
  Value node = Value::Object();
  node.Add("kind", Value::String("Node"));
  node.Add("metadata", std::move(metadata));
  Value& status = node.Add("status", Value::Object());
  if (entry.has_capacity) status.Add("capacity", ToObject(entry.capacity));
  status.Add("allocatable", ToObject(entry.allocatable));
  return ToJson(node);
}

std::string FakeNodes::Event(const std::string& type, const std::string& name) const {
  return R"({"type":")" + type + R"(","object":)" + Json(name) + "}";
}

}  // namespace tenon::fake_api
