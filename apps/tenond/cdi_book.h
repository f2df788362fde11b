#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "cdi/spec_files.h"
#include "config/config.h"
#include "discovery/holding.h"
#include "discovery/source.h"
#include "plugin/allocate_plan.h"

namespace tenon::tenond {

/// The CDI specs of the resources that have `cdi`, one each, of the kind of the resource's name.
///
/// A container that is started again is given the CDI names of its pod's one Allocate. So what a
/// container holds stays in its spec, also when it is not found any more, and a spec without a
/// resource, of this process or an earlier one, goes when no container holds anything of it.
/// docs/container.md. Thread: loop only.
class CdiBook final {
 public:
  using Resources = std::map<std::string, config::Cdi>;
  /// Whether another process offers a resource: then its spec is none of our business.
  using OfferedElsewhereFn = std::function<bool(const std::string& resource)>;

  /// Reads the specs that are there. `log` is borrowed.
  CdiBook(base::Log& log, std::string directory, const OfferedElsewhereFn& offered_elsewhere);
  CdiBook(const CdiBook&) = delete;
  CdiBook& operator=(const CdiBook&) = delete;

  /// Those that have CDI.
  void SetResources(Resources resources);
  const Resources& resources() const { return resources_; }
  /// Writes the spec of a resource with what was found of it.
  void Publish(const std::string& resource, const discovery::Snapshot& devices);
  /// Makes sure that the spec has what a container is about to get, and adds the name to it.
  /// Errors: with `only`, that it cannot be written; else that is logged, and there is no name.
  Result<void> Allocate(const std::string& resource, const std::string& id,
                        plugin::DeviceParts& parts);
  /// What containers hold; of all resources.
  void OnHoldings(const std::vector<discovery::Holding>& holdings);
  void AddHolding(const discovery::Holding& holding);
  /// Whether the end of a holding has to be noticed.
  bool WaitsForRelease() const { return !leaving_.empty(); }

 private:
  Result<void> Write(const std::string& resource);
  void RemoveUnheld();

  base::Log& log_;
  cdi::SpecFiles files_;
  Resources resources_;
  std::map<std::string, cdi::Spec> specs_;  ///< By resource, those of `leaving_` too.
  std::set<std::string> leaving_;
  /// Ids by resource; nothing as long as it is not known.
  std::optional<std::map<std::string, std::set<std::string>>> held_;
  std::map<std::string, std::string> troubles_;  ///< By resource, what was logged last.
};

}  // namespace tenon::tenond
