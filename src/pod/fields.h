#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "value/value.h"

namespace tenon::pod {

/// Gathers what is wrong with one file, each with its place.
class Problems final {
 public:
  explicit Problems(std::string_view file) : file_(file) {}

  void Add(Mark mark, std::string_view path, std::string_view text);
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  const std::string file_;
  std::vector<std::string> texts_;
};

/// One mapping of a manifest while it is read. What is never asked for is a problem when
/// Finish() is called, and so is a key that stands twice.
class Fields final {
 public:
  /// `value` may be null (an absent mapping); `path` is its name in messages, "spec".
  Fields(Problems& problems, const Value* value, Mark place, std::string path);

  /// The value of `key`; null when it is absent or nothing.
  const Value* Get(std::string_view key);
  /// Text that must be there and not be empty; a problem and "" if not.
  std::string RequiredText(std::string_view key, std::string_view what_to_write);
  /// Text or "".
  std::string Text(std::string_view key);
  std::vector<std::string> TextList(std::string_view key);
  std::map<std::string, std::string> TextMap(std::string_view key);
  std::optional<int64_t> Number(std::string_view key);
  /// The items of a list of mappings, each with its path, "spec.containers[0]".
  void EachItem(std::string_view key,
                const std::function<void(const Value& item, const std::string& path)>& read);

  void Finish();

  /// Adds a problem at the place of `key`, or of the mapping when the key is absent.
  void Complain(std::string_view key, std::string_view text);
  std::string PathOf(std::string_view key) const;

 private:
  std::optional<std::string> TextOf(const Value& value, const std::string& path);

  Problems& problems_;
  const Value* const value_;
  const Mark place_;
  const std::string path_;
  std::vector<std::string_view> known_;
};

}  // namespace tenon::pod
