#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loop/timer_queue.h"
#include "manager/checkpoint_store.h"
#include "manager/plugin_client.h"

namespace tenon::manager {

/// Runs all that is due without letting time pass.
inline void Settle(loop::TimerQueue& timers) {
  while (timers.next_deadline() && *timers.next_deadline() <= timers.now())
    timers.Advance({});
}

/// What a plugin makes of a call.
enum class Reply {
  kAnswer,
  kFail,  ///< "rpc error: code = Internal desc = it broke".
  kHang,  ///< The call ends by its deadline.
  kHold,  ///< Answers when the test says Release().
};

/// A plugin process as a test scripts it; it records what it was asked.
struct FakePlugin {
  class Client;

  api::PluginOptions options;
  Reply on_options = Reply::kAnswer;
  Reply on_allocate = Reply::kAnswer;
  Reply on_preferred = Reply::kAnswer;
  Reply on_pre_start = Reply::kAnswer;
  /// Whether Allocate's answers have a container in them.
  bool empty_answer = false;
  /// What Allocate answers beside the variable DEVICES; asked for by the ids.
  std::function<ContainerAllocation(const std::vector<std::string>&)> allocation;
  std::function<std::vector<std::string>(const api::PreferredRequest&)> preference;

  std::vector<std::vector<std::string>> allocated;
  std::vector<api::PreferredRequest> preferred;
  std::vector<std::vector<std::string>> pre_started;
  std::vector<Client*> clients;             ///< Open connections.
  std::vector<std::function<void()>> held;  ///< Answers of Reply::kHold.

  ~FakePlugin();
  bool connected() const { return !clients.empty(); }
  void Release() {
    for (auto& answer : std::exchange(held, {}))
      answer();
  }
  void SendList(const std::vector<api::ListedDevice>& devices);
  /// Ends the streams of all connections, as when the plugin dies.
  void EndStreams(const std::string& why = "rpc error: code = Unavailable desc = EOF",
                  Code code = Code::kUnavailable);
};

class FakePlugin::Client final : public PluginClient {
 public:
  Client(loop::TimerQueue& timers, FakePlugin& plugin) : timers_(timers), plugin_(&plugin) {
    plugin_->clients.push_back(this);
  }
  ~Client() override {
    if (plugin_ != nullptr) std::erase(plugin_->clients, this);
  }
  /// The plugin is no more; its calls in flight are of no interest.
  void Orphan() { plugin_ = nullptr; }

  Call GetOptions(base::Duration deadline, OptionsDone done) override {
    return Answer<api::PluginOptions>(plugin_->on_options, deadline, std::move(done),
                                      plugin_->options);
  }
  Call ListAndWatch(ListFn on_list, EndFn on_end) override {
    on_list_ = std::move(on_list);
    on_end_ = std::move(on_end);
    return std::make_unique<Stream>(*this);
  }
  Call Allocate(api::AllocateRequest request, base::Duration deadline, AllocateDone done) override {
    plugin_->allocated.push_back(request.device_ids);
    std::optional<AllocateAnswer> answer;
    if (!plugin_->empty_answer) {
      std::string all;
      for (const std::string& id : request.device_ids)
        all += (all.empty() ? "" : ",") + id;
      answer.emplace();
      if (plugin_->allocation) answer->allocation = plugin_->allocation(request.device_ids);
      answer->allocation.env["DEVICES"] = all;
      answer->encoded = "encoded:" + all;
    }
    return Answer<std::optional<AllocateAnswer>>(plugin_->on_allocate, deadline, std::move(done),
                                                 std::move(answer));
  }
  Call GetPreferredAllocation(api::PreferredRequest request, base::Duration deadline,
                              PreferredDone done) override {
    plugin_->preferred.push_back(request);
    std::vector<std::string> answer;
    if (plugin_->preference) answer = plugin_->preference(request);
    return Answer<std::vector<std::string>>(plugin_->on_preferred, deadline, std::move(done),
                                            std::move(answer));
  }
  Call PreStartContainer(std::vector<std::string> device_ids, base::Duration deadline,
                         PreStartDone done) override {
    plugin_->pre_started.push_back(std::move(device_ids));
    return Answer<void>(plugin_->on_pre_start, deadline, std::move(done), Result<void>());
  }

  void SendList(const std::vector<api::ListedDevice>& devices) {
    if (on_list_) on_list_(devices);
  }
  void EndStream(const Error& why) {
    on_list_ = nullptr;
    if (EndFn on_end = std::exchange(on_end_, nullptr)) on_end(why);
  }

 private:
  struct Pending final : PluginCall {
    loop::TimerHandle timer;
    std::shared_ptr<bool> alive = std::make_shared<bool>(true);
  };
  struct Stream final : PluginCall {
    explicit Stream(Client& c) : client(c) {}
    ~Stream() override { client.on_list_ = nullptr, client.on_end_ = nullptr; }
    Client& client;
  };

  template <class T>
  Call Answer(Reply reply, base::Duration deadline, std::function<void(Result<T>)> done,
              Result<T> answer) {
    auto call = std::make_unique<Pending>();
    switch (reply) {
      case Reply::kAnswer:
        call->timer = timers_.After({}, [done, answer] { done(answer); });
        break;
      case Reply::kFail:
        call->timer = timers_.After({}, [done] {
          done(Error(Code::kInternal, "rpc error: code = Internal desc = it broke"));
        });
        break;
      case Reply::kHold:
        plugin_->held.push_back([alive = std::weak_ptr(call->alive), done, answer] {
          if (!alive.expired()) done(answer);
        });
        break;
      case Reply::kHang:
        call->timer = timers_.After(deadline, [done] {
          done(Error(Code::kDeadlineExceeded,
                     "rpc error: code = DeadlineExceeded desc = context deadline exceeded"));
        });
        break;
    }
    return call;
  }

  loop::TimerQueue& timers_;
  FakePlugin* plugin_;
  ListFn on_list_;
  EndFn on_end_;
};

inline FakePlugin::~FakePlugin() {
  for (Client* client : clients)
    client->Orphan();
}

inline void FakePlugin::SendList(const std::vector<api::ListedDevice>& devices) {
  for (Client* client : std::vector(clients))
    client->SendList(devices);
}

inline void FakePlugin::EndStreams(const std::string& why, Code code) {
  for (Client* client : std::vector(clients))
    client->EndStream({code, why});
}

/// Connects to the plugins that a test has put at its sockets.
class FakeDialer final : public PluginDialer {
 public:
  explicit FakeDialer(loop::TimerQueue& timers) : timers_(timers) {}

  std::map<std::string, FakePlugin*> sockets;
  std::vector<std::string> dialled;

  std::unique_ptr<PluginCall> Dial(const std::string& endpoint, base::Duration limit,
                                   Done done) override {
    dialled.push_back(endpoint);
    auto call = std::make_unique<Pending>();
    auto at = sockets.find(endpoint);
    if (at == sockets.end()) {
      call->timer = timers_.After(limit, [done = std::move(done)] {
        done(Error(Code::kDeadlineExceeded, "context deadline exceeded"));
      });
    } else {
      call->timer = timers_.After({}, [&timers = timers_, plugin = at->second,
                                       done = std::move(done)] {
        done(std::unique_ptr<PluginClient>(std::make_unique<FakePlugin::Client>(timers, *plugin)));
      });
    }
    return call;
  }

 private:
  struct Pending final : PluginCall {
    loop::TimerHandle timer;
  };
  loop::TimerQueue& timers_;
};

/// Keeps the file in memory.
class FakeCheckpointFile final : public CheckpointFile {
 public:
  explicit FakeCheckpointFile(loop::TimerQueue& timers) : timers_(timers) {}

  std::optional<std::string> content;
  std::optional<Error> read_error;
  std::optional<Error> write_error;
  std::vector<std::string> set_aside;
  bool hold = false;  ///< Writes end when the test says Release().
  int writes = 0;     ///< Begun.

  void Release() {
    for (auto& end : std::exchange(held_, {}))
      end();
  }

  /// Writes under way never end.
  void Drop() {
    held_.clear();
    ends_.clear();
  }

  Result<std::optional<std::string>> Read() override {
    if (read_error) return *read_error;
    return content;
  }
  Result<std::string> SetAside() override {
    set_aside.push_back(*std::exchange(content, std::nullopt));
    return "aside-" + std::to_string(set_aside.size());
  }
  void Write(std::string text, Done done) override {
    ++writes;
    auto end = [this, text = std::move(text), done = std::move(done)] {
      if (write_error) return done(*write_error);
      content = text;
      done({});
    };
    if (hold) {
      held_.push_back(std::move(end));
    } else {
      ends_.push_back(timers_.After({}, std::move(end)));
    }
  }

 private:
  loop::TimerQueue& timers_;
  std::vector<std::function<void()>> held_;
  std::deque<loop::TimerHandle> ends_;
};

inline std::vector<api::ListedDevice> ListedDevices(const std::vector<std::string>& healthy,
                                                    const std::vector<std::string>& ill) {
  std::vector<api::ListedDevice> devices;
  for (const std::string& id : healthy)
    devices.push_back({.id = id, .health = std::string(api::kHealthy)});
  for (const std::string& id : ill)
    devices.push_back({.id = id, .health = "Unhealthy"});
  return devices;
}
inline std::vector<api::ListedDevice> HealthyDevices(const std::vector<std::string>& ids) {
  return ListedDevices(ids, {});
}

}  // namespace tenon::manager
