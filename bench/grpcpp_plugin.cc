// A device plugin as one writes it with grpc++ and protobuf, for plugin_bench to measure beside
// tenond: the same messages, the same lists, and no thread of its own but the first, which sleeps
// until inotify tells of a device or of a kubelet.

#include <dirent.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "deviceplugin/v1beta1/api.grpc.pb.h"

namespace {

using v1beta1::ListAndWatchResponse;

/// One open ListAndWatch: it writes the newest list, and again when there is a newer one.
class Watch final : public grpc::ServerWriteReactor<ListAndWatchResponse> {
 public:
  explicit Watch(class Plugin& plugin);
  void Offer(const ListAndWatchResponse& list);
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void StartNext();

  Plugin& plugin_;
  std::mutex mutex_;
  ListAndWatchResponse newest_;
  ListAndWatchResponse writing_;
  bool has_newer_ = false;
  bool busy_ = false;
  bool finished_ = false;
};

class Plugin final : public v1beta1::DevicePlugin::CallbackService {
 public:
  explicit Plugin(std::vector<std::string> ids) { SetDevices(ids); }

  void SetDevices(const std::vector<std::string>& ids) {
    std::lock_guard lock(mutex_);
    list_.clear_devices();
    for (const std::string& id : ids) {
      v1beta1::Device& device = *list_.add_devices();
      device.set_id(id);
      device.set_health("Healthy");
    }
    for (Watch* watch : watches_)
      watch->Offer(list_);
  }
  void Open(Watch& watch) {
    std::lock_guard lock(mutex_);
    watches_.insert(&watch);
    watch.Offer(list_);
  }
  void Close(Watch& watch) {
    std::lock_guard lock(mutex_);
    watches_.erase(&watch);
  }

 private:
  grpc::ServerUnaryReactor* GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                   const v1beta1::Empty*,
                                                   v1beta1::DevicePluginOptions*) override {
    return Finished(*context);
  }
  grpc::ServerWriteReactor<ListAndWatchResponse>* ListAndWatch(grpc::CallbackServerContext*,
                                                               const v1beta1::Empty*) override {
    auto* watch = new Watch(*this);  // Deletes itself in OnDone(), as reactors do.
    Open(*watch);
    return watch;
  }
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const v1beta1::AllocateRequest* request,
                                     v1beta1::AllocateResponse* response) override {
    for (const auto& container : request->container_requests()) {
      auto& answer = *response->add_container_responses();
      for (const std::string& id : container.devices_ids()) {
        v1beta1::DeviceSpec& spec = *answer.add_devices();
        spec.set_container_path("/dev/" + id);
        spec.set_host_path("/dev/" + id);
        spec.set_permissions("rw");
      }
    }
    return Finished(*context);
  }
  static grpc::ServerUnaryReactor* Finished(grpc::CallbackServerContext& context) {
    grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  std::mutex mutex_;
  ListAndWatchResponse list_;
  std::set<Watch*> watches_;
};

Watch::Watch(Plugin& plugin) : plugin_(plugin) {}

void Watch::Offer(const ListAndWatchResponse& list) {
  std::lock_guard lock(mutex_);
  newest_ = list;
  has_newer_ = true;
  if (!busy_) StartNext();
}

void Watch::StartNext() {
  if (finished_ || !has_newer_) return;
  writing_ = newest_;
  has_newer_ = false;
  busy_ = true;
  StartWrite(&writing_);
}

void Watch::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  busy_ = false;
  if (ok) StartNext();
}

void Watch::OnCancel() {
  {
    std::lock_guard lock(mutex_);
    finished_ = true;
  }
  Finish(grpc::Status::CANCELLED);
}

void Watch::OnDone() {
  plugin_.Close(*this);
  delete this;
}

/// A resource: its plugin, and the server on a socket of its own.
struct Resource {
  std::string name;
  std::string endpoint;
  std::unique_ptr<Plugin> plugin;
  std::unique_ptr<grpc::Server> server;
};

void Serve(Resource& resource, const std::string& directory) {
  if (resource.server) resource.server->Shutdown(std::chrono::system_clock::now());
  resource.server.reset();
  std::string path = directory + "/" + resource.endpoint;
  ::unlink(path.c_str());
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  builder.RegisterService(resource.plugin.get());
  resource.server = builder.BuildAndStart();
}

void Register(const Resource& resource, const std::string& directory) {
  auto stub = v1beta1::Registration::NewStub(grpc::CreateChannel(
      "unix:" + directory + "/kubelet.sock", grpc::InsecureChannelCredentials()));
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(resource.endpoint);
  request.set_resource_name(resource.name);
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  v1beta1::Empty answer;
  grpc::Status status = stub->Register(&context, request, &answer);
  if (!status.ok())
    std::fprintf(stderr, "%s: %s\n", resource.name.c_str(), status.error_message().c_str());
}

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  DIR* open = ::opendir(directory.c_str());
  if (open == nullptr) return names;
  while (const dirent* entry = ::readdir(open))
    if (entry->d_type == DT_CHR) names.emplace_back(entry->d_name);
  ::closedir(open);
  std::sort(names.begin(), names.end());
  return names;
}

/// Whether a file of this name was made, among what inotify has to tell now.
bool TakeEvents(int inotify, std::string_view name) {
  alignas(inotify_event) char buffer[16384];
  bool found = false;
  for (ssize_t got = 0; (got = ::read(inotify, buffer, sizeof buffer)) > 0;)
    for (char* at = buffer; at < buffer + got;) {
      auto* event = reinterpret_cast<inotify_event*>(at);
      found |= name.empty() || (event->len > 0 && name == event->name);
      at += sizeof(inotify_event) + event->len;
    }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: grpcpp_plugin PLUGIN_DIR DEVICE_DIR RESOURCES\n");
    return 2;
  }
  const std::string directory = argv[1];
  const std::string devices = argv[2];
  std::vector<Resource> resources(static_cast<size_t>(std::max(1, std::atoi(argv[3]))));
  const std::vector<std::vector<std::string>> fixed = {
      {}, {"fuse"}, {"ttyUSB0", "ttyUSB1", "ttyUSB2", "ttyUSB3"}, {"0", "1"}};
  for (size_t i = 0; i < resources.size(); ++i) {
    resources[i].name = "bench.example.com/r" + std::to_string(i);
    resources[i].endpoint = "r" + std::to_string(i) + ".sock";
    resources[i].plugin =
        std::make_unique<Plugin>(i == 0 ? NamesIn(devices) : fixed[i % fixed.size()]);
  }

  int kubelet = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  int hotplug = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (::inotify_add_watch(kubelet, directory.c_str(), IN_CREATE | IN_MOVED_TO) < 0 ||
      ::inotify_add_watch(hotplug, devices.c_str(), IN_CREATE | IN_DELETE) < 0) {
    std::perror("inotify_add_watch");
    return 1;
  }
  bool there = ::access((directory + "/kubelet.sock").c_str(), F_OK) == 0;
  for (;;) {
    if (there) {
      for (Resource& resource : resources)
        Serve(resource, directory);
      for (const Resource& resource : resources)
        Register(resource, directory);
    }
    pollfd fds[] = {{kubelet, POLLIN, 0}, {hotplug, POLLIN, 0}};
    ::poll(fds, 2, -1);
    there = TakeEvents(kubelet, "kubelet.sock");
    if (TakeEvents(hotplug, "")) resources[0].plugin->SetDevices(NamesIn(devices));
  }
}
