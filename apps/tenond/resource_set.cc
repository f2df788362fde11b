#include "tenond/resource_set.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "plugin/socket_name.h"
#include "policy/preferred.h"
#include "policy/replicas.h"
#include "sources/rule_sources.h"

namespace tenon::tenond {
namespace {

using plugin_service::ResourcePlugin;

/// How long a kubelet may take to read that a resource is empty.
constexpr base::Duration kRetireLimit = std::chrono::seconds(2);

/// Any seed does that is not the same on every machine and for every resource.
uint64_t Seed(const std::string& process_token, const std::string& resource) {
  return std::hash<std::string>{}(process_token + resource);
}

}  // namespace

ResourceSet::ResourceSet(const plugin_service::ServiceContext& context,
                         const Surroundings& surroundings, std::string process_token,
                         Allowed allowed)
    : context_(context),
      surroundings_(surroundings),
      process_token_(std::move(process_token)),
      allow_paths_(std::move(allowed.paths)),
      runner_(context.loop, std::move(allowed.programs)),
      cdi_(context.log, surroundings.cdi_dir,
           [directory = surroundings.directory.path()](const std::string& resource) {
             auto name = ResourceName::Parse(resource);
             return !name || plugin::IsServed(directory, *name);
           }),
      held_(
          context.loop, surroundings.host, context.log,
          {.checkpoint = base::JoinPath(surroundings.directory.path(), checkpoint::kFileName),
           .pod_resources = surroundings.pod_resources},
          [this](const std::string& resource, const std::string& id) {
            return BaseId(resource, id);
          },
          [this](const std::vector<discovery::Holding>& holdings) { OnHoldings(holdings); }),
      inventory_(
          context.clock, context.log, surroundings.events,
          [this](const std::string& resource, const DeviceSetPtr& devices) {
            Publish(resource, devices);
          },
          [this](const std::string& resource) { WriteCdiSpec(resource); }) {}

void ResourceSet::Publish(const std::string& resource, const DeviceSetPtr& devices) {
  auto plugin = plugins_.find(resource);
  if (plugin == plugins_.end() || devices == nullptr) return;
  auto upkeep = upkeeps_.find(resource);
  const DeviceSetPtr offered = upkeep == upkeeps_.end() ? devices : upkeep->second->Apply(devices);
  plugin->second->Publish(policy::Replicate(offered, TermsOf(resource).share));
  UpdateMatters();
}

void ResourceSet::OnHoldings(const std::vector<discovery::Holding>& holdings) {
  cdi_.OnHoldings(holdings);
  inventory_.SetHoldings(holdings);
  for (const auto& [name, mode] : cdi_.resources())
    WriteCdiSpec(name);
  for (const auto& [name, upkeep] : upkeeps_) {
    std::set<std::string> held;
    for (const discovery::Holding& holding : holdings)
      if (holding.resource == name) held.insert(holding.ids.begin(), holding.ids.end());
    upkeep->OnHoldings(held);
  }
  UpdateMatters();
}

void ResourceSet::UpdateMatters() {
  held_.SetMatters(inventory_.holdings_matter() || cdi_.WaitsForRelease() ||
                   std::ranges::any_of(upkeeps_, [](const auto& entry) {
                     return entry.second->WaitsForRelease();
                   }));
}

void ResourceSet::WriteCdiSpec(const std::string& resource) {
  cdi_.Publish(resource, inventory_.Found(resource));
}

std::string ResourceSet::BaseId(const std::string& resource, const std::string& id) const {
  return TermsOf(resource).share > 1 ? std::string(policy::ReplicaOf(id)) : id;
}

ResourceSet::Terms ResourceSet::TermsOf(const std::string& resource) const {
  auto terms = terms_.find(resource);
  return terms == terms_.end() ? Terms{} : terms->second;
}

void ResourceSet::Apply(const config::Config& config) {
  std::set<std::string> wanted;
  std::vector<std::string> order;
  std::vector<std::string> reshared;
  std::vector<ResourcePlugin*> added;
  CdiBook::Resources with_cdi;
  for (const config::ResourceConfig& resource : config.resources) {
    const std::string& name = resource.name.text();
    wanted.insert(name);
    order.push_back(name);
    const bool shared = resource.share > 1;
    const Terms terms{resource.share,
                      resource.prefer.value_or(shared ? policy::Preference::kSpread
                                                      : policy::Preference::kInOrder)};
    if (terms_[name].share != terms.share) reshared.push_back(name);
    terms_[name] = terms;
    if (resource.cdi != config::Cdi::kNo) with_cdi[name] = resource.cdi;
    SetUpkeep(resource);
    const bool pre_start = resource.programs.pre_start.has_value();
    if (auto plugin = plugins_.find(name); plugin != plugins_.end()) {
      if (plugin->second->core().options().pre_start_required == pre_start) continue;
      // The kubelet is told when a plugin registers whether it wants to be called.
      plugins_.erase(plugin);
      reshared.push_back(name);
    }
    // The metrics of a resource belong to one plugin at a time.
    std::erase_if(leaving_, [&name](const Leaving& leaving) { return leaving.name == name; });
    added.push_back((plugins_[name] = MakePlugin(resource.name, pre_start)).get());
  }
  for (auto next = plugins_.begin(); next != plugins_.end();) {
    auto at = next++;
    if (wanted.contains(at->first)) continue;
    Retire(at->first, std::move(at->second));
    terms_.erase(at->first);
    upkeeps_.erase(at->first);
    plugins_.erase(at);
  }
  cdi_.SetResources(std::move(with_cdi));
  // Before anything is offered, as an id may have changed while a pod holds the device.
  held_.ReadCheckpoint();
  inventory_.Replace(MakeAllSources(config), std::move(order));
  for (const auto& [name, mode] : cdi_.resources())
    WriteCdiSpec(name);
  UpdateMatters();
  for (const std::string& name : reshared)
    Publish(name, inventory_.devices(name));
  for (ResourcePlugin* plugin : added)
    plugin->Start();
}

void ResourceSet::SetUpkeep(const config::ResourceConfig& resource) {
  const std::string& name = resource.name.text();
  const config::ResourcePrograms& programs = resource.programs;
  auto convert = [](const std::optional<config::ProgramRule>& rule) {
    return rule ? std::optional(ToProgram(*rule)) : std::nullopt;
  };
  UpkeepRules rules{convert(programs.on_allocate), convert(programs.on_release),
                    convert(programs.pre_start), std::nullopt, std::nullopt};
  if (programs.health)
    rules.health = HealthRule{ToProgram(programs.health->program),
                              std::chrono::seconds(programs.health->every_s)};
  if (resource.open_check)
    rules.open_check =
        OpenCheckRule{resource.open_check->subsystems,
                      std::chrono::seconds(resource.open_check->every_s), resource.share > 1};
  auto present = upkeeps_.find(name);
  if (present != upkeeps_.end() && present->second->rules() == rules) return;
  upkeeps_.erase(name);
  if (rules == UpkeepRules{}) return;
  upkeeps_[name] = std::make_unique<Upkeep>(
      context_,
      Upkeep::Ports{surroundings_.host, runner_, name, surroundings_.pod_resources,
                    [this, name](const std::string& id) { return inventory_.Find(name, id); },
                    [this, name] { Publish(name, inventory_.devices(name)); },
                    [this, name](const std::string& id, const std::string& text) {
                      context_.log.Info(text, {{"resource", name}, {"device", id}});
                      surroundings_.events.Add({context_.clock.WallNow(), name, id, text});
                    }},
      std::move(rules));
}

plugin::PrepareFn ResourceSet::PrepareBy(const std::string& resource,
                                         void (Upkeep::*moment)(const std::vector<std::string>&,
                                                                const Upkeep::DoneFn&)) {
  return [this, resource, moment](const std::vector<std::string>& ids, const Upkeep::DoneFn& done) {
    auto upkeep = upkeeps_.find(resource);
    if (upkeep == upkeeps_.end()) return done({});
    std::set<std::string> base_ids;  // Of replicas the devices, each once.
    for (const std::string& id : ids)
      base_ids.insert(BaseId(resource, id));
    ((*upkeep->second).*moment)({base_ids.begin(), base_ids.end()}, done);
  };
}

std::unique_ptr<ResourcePlugin> ResourceSet::MakePlugin(const ResourceName& resource,
                                                        bool pre_start) {
  plugin::PluginHooks hooks;
  hooks.before_allocate = PrepareBy(resource.text(), &Upkeep::BeforeAllocate);
  hooks.on_allocate = PrepareBy(resource.text(), &Upkeep::OnAllocate);
  if (pre_start) hooks.pre_start = PrepareBy(resource.text(), &Upkeep::PreStart);
  hooks.resolve = [this, name = resource.text()](const Device& device) {
    return Resolve(name, device);
  };
  hooks.preferred = [this, name = resource.text()](const DeviceSet& devices,
                                                   const api::PreferredRequest& request) {
    const Terms terms = TermsOf(name);
    return policy::Prefer(terms.prefer, devices, terms.share > 1, request);
  };
  return std::make_unique<ResourcePlugin>(
      context_, surroundings_.directory, surroundings_.events,
      ResourcePlugin::Options{.resource = resource,
                              .process_token = process_token_,
                              .seed = Seed(process_token_, resource.text())},
      std::move(hooks));
}

discovery::SourcesByResource ResourceSet::MakeAllSources(const config::Config& config) {
  const discovery::Surroundings surroundings{surroundings_.host, surroundings_.file_watch,
                                             context_.loop.timers(), context_.log,
                                             surroundings_.uevents};
  discovery::SourcesByResource sources;
  for (const config::ResourceConfig& resource : config.resources)
    sources[resource.name.text()] = MakeSources(surroundings, runner_, resource, allow_paths_);
  return sources;
}

const discovery::FoundDevice* ResourceSet::Find(const std::string& resource,
                                                std::string_view id) const {
  return inventory_.Find(resource, BaseId(resource, std::string(id)));
}

Result<discovery::ResolvedNode> ResourceSet::ResolvePath(const std::string& resource,
                                                         const DeviceId& id,
                                                         const discovery::FoundPath& path) {
  TENON_TRY(discovery::ResolvedNode resolved,
            discovery::ResolveDeviceNode(surroundings_.host, path, {allow_paths_, path.unsafe}));
  if (!resolved.change.empty())
    context_.log.Warning(resolved.change, {{"resource", resource}, {"path", path.host_path}});
  if (path.mount || path.shared) return resolved;
  // A link that leads elsewhere since it was looked at may lead to what another pod has.
  const std::string who =
      inventory_.WhoHoldsOtherwise(resource, id.value, resolved.number, resolved.node.host_path);
  if (who.empty()) return resolved;
  return Error(Code::kFailedPrecondition, base::EscapeForLine(path.host_path) + ": " + who);
}

Result<plugin::DeviceParts> ResourceSet::Resolve(const std::string& resource,
                                                 const Device& device) {
  const discovery::FoundDevice* found = Find(resource, device.id.value);
  if (found == nullptr) return Error(Code::kNotFound, "it has just been taken away");
  plugin::DeviceParts parts;
  std::set<std::string> numbers;
  for (const discovery::FoundPath& path : found->paths) {
    TENON_TRY(discovery::ResolvedNode resolved, ResolvePath(resource, found->id, path));
    if (resolved.group) parts.groups.insert(*resolved.group);
    if (!path.mount && !path.shared) numbers.insert(std::move(resolved.number));
    if (path.mount)
      parts.allocation.mounts.push_back({.container_path = resolved.node.container_path,
                                         .host_path = resolved.node.host_path,
                                         .read_only = path.read_only});
    else
      parts.allocation.device_nodes.push_back(std::move(resolved.node));
  }
  parts.allocation.env = found->env;
  parts.allocation.annotations = found->annotations;
  parts.env_lists = found->env_lists;
  TENON_TRY_VOID(cdi_.Allocate(resource, found->id.value, parts));
  const discovery::Holding holding{resource, {found->id.value}, std::move(numbers), "a pod"};
  held_.OnAllocated(holding);
  inventory_.AddHolding(holding);
  cdi_.AddHolding(holding);
  if (auto upkeep = upkeeps_.find(resource); upkeep != upkeeps_.end()) {
    upkeep->second->OnAllocated(found->id.value);
    UpdateMatters();
  }
  return parts;
}

void ResourceSet::Retire(const std::string& name, std::unique_ptr<ResourcePlugin> plugin) {
  auto slot = leaving_.emplace(leaving_.end(), Leaving{name, std::move(plugin), {}});
  slot->plugin->Retire(kRetireLimit, [this, slot] {
    // Not the plugin's end inside its own callback.
    slot->gone = context_.loop.timers().After(base::Duration::zero(),
                                              [this, slot] { leaving_.erase(slot); });
  });
}

void ResourceSet::Check() {
  for (auto& [name, plugin] : plugins_)
    plugin->Check();
}

void ResourceSet::Drain(base::Duration limit, std::function<void()> done) {
  if (plugins_.empty()) return done();
  drained_ = std::move(done);
  draining_ = plugins_.size();
  for (auto& [name, plugin] : plugins_) {
    plugin->Drain(limit, [this] {
      if (--draining_ == 0) drained_();
    });
  }
}

std::vector<std::string> ResourceSet::NotReady() const {
  std::vector<std::string> reasons;
  for (const auto& [name, plugin] : plugins_) {
    if (plugin->ready()) continue;
    const plugin::Registration& registration = plugin->registration();
    std::string reason = name + ": ";
    reason += plugin::StateName(registration.state());
    if (!registration.detail().empty()) reason += ": " + registration.detail();
    reasons.push_back(std::move(reason));
  }
  return reasons;
}

}  // namespace tenon::tenond
