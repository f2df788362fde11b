#include "tenon/resource/wish.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/strings.h"
#include "value/value.h"

namespace tenon::cli {
namespace {

constexpr ParseLimits kLimits{.bytes = size_t{1} << 20, .depth = 8, .values = 100'000};

Error Invalid(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

Result<Wish> MakeWish(std::string_view name, std::string_view quantity) {
  TENON_TRY(ResourceName parsed_name, ResourceName::Parse(name));
  TENON_TRY(pod::Quantity parsed, pod::Quantity::Parse(quantity));
  if (!parsed.is_whole()) {
    return Invalid("\"" + base::EscapeForLine(quantity) +
                   "\" is not a whole number, and devices cannot be divided");
  }
  return Wish{.name = std::move(parsed_name), .quantity = std::move(parsed)};
}

/// Gathers what was read, or all that is wrong with it.
template <class T>
class Gathered final {
 public:
  void Take(Result<T> result, const std::string& context) {
    if (!result) return Complain(std::move(result).error().Wrap(context).message());
    if (!names_.insert(NameOf(*result)).second)
      return Complain(context + ": " + NameOf(*result) + " is there twice");
    items_.push_back(*std::move(result));
  }
  void Complain(std::string text) { faults_.push_back(std::move(text)); }
  Result<std::vector<T>> Finish() && {
    if (!faults_.empty()) return Invalid(base::Join(faults_, "\n"));
    return std::move(items_);
  }

 private:
  static const std::string& NameOf(const ResourceName& name) { return name.text(); }
  static const std::string& NameOf(const Wish& wish) { return wish.name.text(); }

  std::vector<T> items_;
  std::vector<std::string> faults_;
  std::set<std::string> names_;
};

/// The mapping of one file while it is read.
class FileReader final {
 public:
  explicit FileReader(const std::string& path) : path_(path) {}

  Result<WishesByNode> Read(const Value& top) {
    if (!top.is_object()) {
      Complain(top.mark(), "write \"nodes:\" and below it each kube node");
      return Finish();
    }
    for (const Value::Member& member : top.members()) {
      if (member.key != "nodes")
        Complain(member.key_mark, "unknown key \"" + member.key + "\"; known here: nodes");
    }
    const Value* all = top.Find("nodes");
    if (all == nullptr || !all->is_object() || all->members().empty()) {
      Complain(top.mark(), "\"nodes\" must be a mapping from kube nodes to their resources");
      return Finish();
    }
    for (const Value::Member& member : all->members())
      ReadNode(member);
    return Finish();
  }

 private:
  void ReadNode(const Value::Member& member) {
    if (auto good = CheckNodeName(member.key); !good)
      Complain(member.key_mark, good.error().message());
    if (!member.value.is_object() || member.value.members().empty()) {
      return Complain(member.value.mark(),
                      "\"" + member.key + "\" must be a mapping, as in example.com/dongle: 4");
    }
    Gathered<Wish> wishes;
    for (const Value::Member& resource : member.value.members()) {
      auto quantity = resource.value.AsString();
      Result<Wish> wish = quantity ? MakeWish(resource.key, *quantity)
                                   : Result<Wish>(Invalid("the quantity must be a number, not " +
                                                          std::string(resource.value.KindName())));
      wishes.Take(std::move(wish), PlaceText(path_, resource.key_mark));
    }
    auto read = std::move(wishes).Finish();
    if (!read) return faults_.push_back(read.error().message());
    if (!wishes_.emplace(member.key, *std::move(read)).second)
      Complain(member.key_mark, "\"" + member.key + "\" is there twice");
  }
  void Complain(Mark mark, const std::string& text) {
    faults_.push_back(PlaceText(path_, mark) + ": " + text);
  }
  Result<WishesByNode> Finish() {
    if (!faults_.empty()) return Invalid(base::Join(faults_, "\n"));
    return std::move(wishes_);
  }

  const std::string& path_;
  std::vector<std::string> faults_;
  WishesByNode wishes_;
};

}  // namespace

Result<std::vector<Wish>> ParseWishes(const std::vector<std::string>& texts) {
  Gathered<Wish> wishes;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      wishes.Complain(text + ": write RESOURCE=QUANTITY, example.com/dongle=4");
      continue;
    }
    wishes.Take(MakeWish(std::string_view{text}.substr(0, equals),
                         std::string_view{text}.substr(equals + 1)),
                text);
  }
  return std::move(wishes).Finish();
}

Result<std::vector<ResourceName>> ParseNames(const std::vector<std::string>& texts) {
  Gathered<ResourceName> names;
  for (const std::string& text : texts)
    names.Take(ResourceName::Parse(text), text);
  return std::move(names).Finish();
}

Result<void> CheckNodeName(std::string_view name) {
  if (IsDnsSubdomain(name)) return {};
  return Invalid("\"" + base::EscapeForLine(name) +
                 "\" cannot be a kube node: names are lower-case letters, digits, \"-\" and \".\"");
}

Result<WishesByNode> ParseWishFile(std::string_view text, const std::string& path) {
  TENON_TRY(const std::vector<Value> documents, ParseYaml(text, path, kLimits));
  if (documents.size() > 1) return Invalid(path + ": holds more than one document");
  return FileReader(path).Read(documents.empty() ? Value::Null({1, 1}) : documents.front());
}

}  // namespace tenon::cli
