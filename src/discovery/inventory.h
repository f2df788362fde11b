#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "device/device.h"
#include "device/event_ring.h"
#include "discovery/holding.h"
#include "discovery/node_claims.h"
#include "discovery/source.h"

namespace tenon::discovery {

/// The sources of each resource, by its name. Of two that offer one id
/// the first wins.
using SourcesByResource = std::map<std::string, std::vector<std::unique_ptr<Source>>>;

/// All devices of all resources: merges what the sources report, remembers since when each device
/// is as it is, and tells of real changes only.
///
/// Of devices that have a device node in common the first is offered, by the order of the resources
/// and of their sources; the others are unhealthy while it is there.
/// A device that a container holds, though not by its present id, is unhealthy, and so is one that
/// vanished while it is held.
/// A resource is published once each of its sources has reported. What happens to devices is
/// logged and put into the event ring. Thread: loop only.
class Inventory final {
 public:
  /// A resource has changed: `devices` is its next revision. May destroy the inventory.
  using ChangedFn = std::function<void(const std::string& resource, const DeviceSetPtr& devices)>;
  /// What devices are made of has changed, with or without a next revision; told before that one.
  /// Must neither destroy nor change the inventory.
  using RemadeFn = std::function<void(const std::string& resource)>;

  Inventory(const base::Clock& clock, base::Log& log, EventRing& events, ChangedFn changed,
            RemadeFn remade = {})
      : clock_(clock),
        log_(log),
        events_(events),
        changed_(std::move(changed)),
        remade_(std::move(remade)) {}
  Inventory(const Inventory&) = delete;
  Inventory& operator=(const Inventory&) = delete;

  /// Replaces all sources and starts the new ones. Resources that are not among them are
  /// forgotten; the others keep their revision, and devices whose ids stay keep since when they
  /// are healthy. `order` says which resource comes first where two offer one device node; empty:
  /// that of their names. Requires: not called from inside Replace(), except by its callbacks.
  void Replace(SourcesByResource sources, std::vector<std::string> order = {});
  /// Replaces what is known about who holds what; makes new revisions where it matters. May destroy
  /// this by its callbacks.
  void SetHoldings(std::vector<Holding> holdings);
  /// Adds what has just been handed out, which changes nothing about what is offered.
  void AddHolding(Holding holding) { holdings_.Add(std::move(holding)); }
  /// See Holdings.
  std::string WhoHoldsOtherwise(const std::string& resource, std::string_view id,
                                const std::string& number, const std::string& real_path) const {
    return holdings_.WhoHoldsOtherwise(resource, id, number, real_path);
  }
  /// Whether a device is unhealthy because of them: then it matters when they end.
  bool holdings_matter() const { return holdings_matter_; }
  /// Has all sources look now.
  void Rescan();

  /// The newest revision; null for a resource that is not known or not yet published.
  DeviceSetPtr devices(std::string_view resource) const;
  /// What all devices of a resource are made of, sorted by id; empty for one that is not known.
  Snapshot Found(std::string_view resource) const;
  /// What the device is made of, or null. Valid until the resource changes.
  const FoundDevice* Find(std::string_view resource, std::string_view id) const;

 private:
  struct Resource {
    std::vector<std::unique_ptr<Source>> sources;
    std::vector<std::optional<Snapshot>> snapshots;  // One for each source.
    Snapshot found;                                  // Merged, sorted by id.
    DeviceSetPtr devices;                            // The same, one by one, as it is published.
    std::set<std::string> clashes;                   // Ids that were logged as offered twice.
  };

  void OnReport(const std::string& name, size_t source, Snapshot snapshot);
  /// Makes the next revisions of all resources and tells of them: a device node that one leaves is
  /// free for another. May destroy this.
  void UpdateAll();
  /// Returns: whether there is a next revision.
  bool Update(const std::string& name, Resource& resource, NodeClaims& claims);
  Snapshot Merge(const std::string& name, Resource& resource, NodeClaims& claims);
  void Record(const std::string& name, const Resource& resource, const Snapshot& found,
              const std::vector<Device>& devices);
  void Tell(const std::string& name, const std::string& device, const std::string& text);
  std::vector<std::string> ResourceNames() const;

  const base::Clock& clock_;
  base::Log& log_;
  EventRing& events_;
  const ChangedFn changed_;
  const RemadeFn remade_;
  std::map<std::string, Resource, std::less<>> resources_;
  std::vector<std::string> order_;
  Holdings holdings_;
  bool holdings_matter_ = false;
  bool replacing_ = false;  // Reports are kept and told of in the end.
  // A callback may destroy this object; gone with it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tenon::discovery
