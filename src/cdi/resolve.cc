#include "cdi/resolve.h"

#include <sys/stat.h>
#include <unistd.h>

#include <list>
#include <map>
#include <set>
#include <utility>

#include "base/strings.h"

namespace tenon::cdi {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;

struct LoadedSpec {
  std::string path;
  Spec spec;
};

struct Found {
  const LoadedSpec* spec = nullptr;
  const ContainerEdits* edits = nullptr;
  size_t directory = 0;
  std::string contradicts;  ///< Another file of the same directory.
};

/// Empty if only root and we can have written it.
std::string WhyNotTrusted(const host::FileStat& file) {
  if (file.uid != 0 && file.uid != ::geteuid())
    return "belongs to user " + std::to_string(file.uid) + ", not to root";
  if ((file.mode & (S_IWGRP | S_IWOTH)) != 0) return "can be written to by others than its owner";
  return "";
}

/// All specs of the machine.
class Specs final {
 public:
  Specs(host::Host& machine, const std::vector<std::string>& directories)
      : machine_(machine), directories_(directories) {
    for (size_t i = 0; i < directories_.size(); ++i)
      ReadDirectory(i);
  }

  Result<const Found*> Find(const std::string& name) const {
    const auto found = devices_.find(name);
    if (found == devices_.end()) {
      std::string why = "no spec in " + base::Join(directories_, ", ") + " has it";
      for (const std::string& problem : problems_)
        why += "; " + problem;
      return Error(Code::kNotFound, why);
    }
    if (!found->second.contradicts.empty()) {
      return Error(Code::kFailedPrecondition, found->second.spec->path + " and " +
                                                  found->second.contradicts + " both have it");
    }
    return &found->second;
  }

 private:
  void ReadDirectory(size_t number) {
    const std::string& directory = directories_[number];
    const auto stat = machine_.Stat(directory);
    if (!stat) return;  // Most machines have none.
    if (const std::string why = WhyNotTrusted(*stat); !why.empty()) {
      problems_.push_back(directory + " was not read: it " + why);
      return;
    }
    auto names = machine_.List(directory);
    if (!names) {
      problems_.push_back(names.error().message());
      return;
    }
    for (const std::string& name : *names) {
      if (!name.ends_with(".json") && !name.ends_with(".yaml")) continue;
      if (auto read = ReadSpec(base::JoinPath(directory, name), number); !read)
        problems_.push_back(read.error().message());
    }
  }

  Result<void> ReadSpec(const std::string& path, size_t directory) {
    TENON_TRY(const host::FileStat stat, machine_.Stat(path));
    if (const std::string why = WhyNotTrusted(stat); !why.empty())
      return Error(Code::kPermissionDenied, path + " was not read: it " + why);
    TENON_TRY(const std::string text, machine_.Read(path, kMaxBytes + 1));
    if (text.size() > kMaxBytes) return Error(Code::kInvalidArgument, path + " is over 1 MiB");
    TENON_TRY(Spec spec, ParseSpec(text, path));
    const LoadedSpec& loaded = specs_.emplace_back(LoadedSpec{path, std::move(spec)});
    for (const auto& [device, edits] : loaded.spec.devices) {
      Found& found = devices_[loaded.spec.kind + "=" + device];
      if (found.spec != nullptr && found.directory == directory) {
        found.contradicts = path;
        continue;
      }
      found = {.spec = &loaded, .edits = &edits, .directory = directory};
    }
    return {};
  }

  host::Host& machine_;
  const std::vector<std::string>& directories_;
  std::list<LoadedSpec> specs_;  // Never moves: devices_ points into it.
  std::map<std::string, Found> devices_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<ContainerEdits> ResolveDevices(const std::vector<std::string>& names, host::Host& machine,
                                      const std::vector<std::string>& directories) {
  ContainerEdits out;
  if (names.empty()) return out;
  const Specs specs(machine, directories);
  std::set<const LoadedSpec*> seen;
  for (const std::string& name : names) {
    const std::string what = "CDI device \"" + base::EscapeForLine(name) + "\"";
    if (!IsQualifiedName(name))
      return Error(Code::kInvalidArgument, what + ": must be VENDOR/CLASS=NAME");
    auto found = specs.Find(name);
    if (!found) return std::move(found).error().Wrap(what);
    if (seen.insert((*found)->spec).second) out.Append((*found)->spec->spec.edits);
    out.Append(*(*found)->edits);
  }
  return out;
}

}  // namespace tenon::cdi
