#include "kubelet_service/plugin_registry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/errno_error.h"
#include "base/strings.h"
#include "loop/backoff.h"
#include "rpc/channel.h"
#include "wire/messages.h"

namespace tenon::kubelet_service {
namespace {

constexpr std::string_view kDevicePlugin = "DevicePlugin";  // pluginregistration/v1 constants.go
constexpr int kMostDepth = 8;

/// When the file of `st` was made, which unlike its times in `st` no chmod changes; where the file
/// system does not know it, when it last changed.
int64_t MadeAt(const std::string& path, const struct stat& st) {
  constexpr int64_t kSecond = 1'000'000'000;
  struct statx wide;
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_SYNC_AS_STAT, STATX_BTIME, &wide) == 0 &&
      (wide.stx_mask & STATX_BTIME) != 0)
    return wide.stx_btime.tv_sec * kSecond + wide.stx_btime.tv_nsec;
  return st.st_ctim.tv_sec * kSecond + st.st_ctim.tv_nsec;
}

}  // namespace

/// One socket: asked, registered, told; and then kept until it is removed.
class PluginRegistry::FoundSocket final {
 public:
  FoundSocket(PluginRegistry& owner, std::string path, Identity identity)
      : owner_(owner),
        path_(std::move(path)),
        identity_(identity),
        backoff_({owner.options_.first_retry, owner.options_.last_retry}, identity.inode) {
    Try({});
  }
  FoundSocket(const FoundSocket&) = delete;
  FoundSocket& operator=(const FoundSocket&) = delete;
  ~FoundSocket() {
    if (registered_) owner_.manager_.Disconnect(plugin_.resource_name, plugin_.socket);
  }

  const Identity& identity() const { return identity_; }

 private:
  void Try(base::Duration delay) {
    next_ = owner_.loop_.timers().After(delay, [this] { Ask(); });
  }
  void Ask() {
    EndTry();
    channel_ = rpc::Channel::Connect(
        owner_.loop_, path_,
        {.connect_timeout = owner_.options_.connect_limit, .retry_connect = true});
    channel_->OnConnected([this](const rpc::Status& status) {
      if (!status.ok()) return Fail("dial: " + rpc::ToString(status));
      call_ = channel_->Unary(
          wire::kGetInfo, "", owner_.options_.info_deadline,
          [this](const rpc::Status& s, const std::string& bytes) { OnInfo(s, bytes); });
    });
  }
  void OnInfo(const rpc::Status& status, const std::string& bytes) {
    if (!status.ok()) return Fail("GetInfo: " + rpc::ToString(status));
    Result<api::PluginInfo> info = wire::DecodePluginInfo(bytes);
    if (!info) return Fail("GetInfo: " + info.error().message());
    if (info->type != kDevicePlugin)
      return Refuse(
          fmt::format("RegisterPlugin error -- no handler registered for plugin type: {} at "
                      "socket {}",
                      base::EscapeForLine(info->type), path_));
    plugin_ = {.resource_name = std::move(info->name),
               .versions = std::move(info->supported_versions),
               .socket = info->endpoint.empty() ? path_ : info->endpoint};
    auto registration = owner_.manager_.RegisterFound(
        plugin_, owner_.dialer_, [this](const Result<void>& result) { OnRegistered(result); });
    if (!registration)
      return Refuse("RegisterPlugin error -- plugin validation failed with err: " +
                    registration.error().message());
    registration_ = *std::move(registration);
  }
  void OnRegistered(const Result<void>& result) {
    registration_.reset();
    if (!result)
      return Refuse("RegisterPlugin error -- plugin registration failed with err: " +
                    result.error().message());
    registered_ = true;
    Notify({.registered = true, .error = ""}, "");
  }
  void Refuse(const std::string& why) { Notify({.registered = false, .error = why}, why); }
  /// `why`: what failed before; empty if nothing did.
  void Notify(const api::RegistrationStatus& status, std::string why) {
    call_ = channel_->Unary(wire::kNotifyRegistrationStatus, wire::EncodeRegistrationStatus(status),
                            owner_.options_.notify_deadline,
                            [this, why = std::move(why)](const rpc::Status& s, const std::string&) {
                              if (!why.empty()) return Fail(why);
                              if (!s.ok())
                                return Fail("NotifyRegistrationStatus: " + rpc::ToString(s));
                              backoff_.Reset();
                              EndLater();
                            });
  }
  /// A plugin that does not take the news of its registration is no longer registered.
  void Fail(const std::string& why) {
    if (std::exchange(registered_, false))
      owner_.manager_.Disconnect(plugin_.resource_name, plugin_.socket);
    owner_.log_.Warning("plugin in plugins_registry was not registered",
                        {{"socket", path_}, {"why", why}});
    Try(backoff_.Next());
  }
  /// In a later turn, as this may be inside a callback of the channel.
  void EndLater() {
    next_ = owner_.loop_.timers().After({}, [this] { EndTry(); });
  }
  void EndTry() {
    call_.reset();
    registration_.reset();
    channel_.reset();
  }

  PluginRegistry& owner_;
  const std::string path_;
  const Identity identity_;
  loop::Backoff backoff_;
  manager::FoundPlugin plugin_;
  bool registered_ = false;
  // The call ends before its channel.
  std::unique_ptr<rpc::Channel> channel_;
  std::unique_ptr<rpc::ClientCall> call_;
  std::unique_ptr<manager::Registration> registration_;
  loop::TimerHandle next_;
};

PluginRegistry::PluginRegistry(loop::EventLoop& loop, base::Log& log, manager::Manager& manager,
                               std::string directory, const Options& options)
    : loop_(loop),
      log_(log),
      manager_(manager),
      directory_(std::move(directory)),
      options_(options),
      dialer_(loop, "/", options.dialer) {}

PluginRegistry::~PluginRegistry() = default;

Result<std::unique_ptr<PluginRegistry>> PluginRegistry::Start(loop::EventLoop& loop, base::Log& log,
                                                              manager::Manager& manager,
                                                              std::string directory,
                                                              const Options& options) {
  std::unique_ptr<PluginRegistry> registry(
      new PluginRegistry(loop, log, manager, std::move(directory), options));
  TENON_TRY(registry->watch_, host::FileWatch::Create(loop));
  TENON_TRY_VOID(registry->Scan());
  return registry;
}

void PluginRegistry::ScanLater() {
  if (scanning_.pending()) return;
  scanning_ = loop_.timers().After({}, [this] {
    if (auto scanned = Scan(); !scanned)
      log_.Error("plugins_registry cannot be watched, plugins that come there are not found",
                 {{"why", scanned.error().message()}});
  });
}

Result<void> PluginRegistry::Scan() {
  for (const std::string& path : std::exchange(gone_, {}))
    directories_.erase(path);
  std::map<std::string, Identity> sockets;
  std::set<std::string> directories;
  TENON_TRY_VOID(ScanDirectory(directory_, sockets, directories));
  std::erase_if(directories_, [&](const auto& d) { return !directories.contains(d.first); });
  // What has gone is disconnected before what has come in its place is registered.
  std::erase_if(sockets_, [&](const auto& found) {
    auto at = sockets.find(found.first);
    return at == sockets.end() || at->second != found.second->identity();
  });
  for (const auto& [path, identity] : sockets)
    if (!sockets_.contains(path))
      sockets_[path] = std::make_unique<FoundSocket>(*this, path, identity);
  return {};
}

Result<bool> PluginRegistry::Watch(const std::string& path) {
  if (directories_.contains(path)) return true;
  auto watch = watch_->Watch(path, [this, path](const std::string&, bool gone) {
    if (gone) gone_.insert(path);
    ScanLater();
  });
  if (!watch && watch.error().code() == Code::kNotFound && path != directory_) return false;
  TENON_TRY(directories_[path], std::move(watch));
  return true;
}

Result<void> PluginRegistry::ScanDirectory(const std::string& path,
                                           std::map<std::string, Identity>& sockets,
                                           std::set<std::string>& directories) {
  // The watch comes first, so that what is made while the directory is read is not missed.
  TENON_TRY(const bool is_there, Watch(path));
  if (!is_there) return {};
  directories.insert(path);
  const auto depth = std::ranges::count(path, '/') - std::ranges::count(directory_, '/');
  std::error_code error;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    const std::string entry = at->path().string();
    struct stat st;
    const bool hidden = at->path().filename().string().starts_with('.');
    std::error_code unread;
    const bool link = at->is_symlink(unread);
    if (hidden || ::stat(entry.c_str(), &st) != 0) continue;  // Or it has gone.
    if (S_ISSOCK(st.st_mode)) {
      sockets[entry] = {st.st_ino, MadeAt(entry, st)};
    } else if (S_ISDIR(st.st_mode) && !link && depth < kMostDepth) {
      TENON_TRY_VOID(ScanDirectory(entry, sockets, directories));
    }
  }
  if (error && path == directory_) return base::ErrnoError("readdir", path, error.value());
  return {};
}

}  // namespace tenon::kubelet_service
