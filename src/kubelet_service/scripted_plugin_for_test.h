#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "loop/event_loop.h"
#include "rpc/server.h"
#include "wire/messages.h"

namespace tenon::kubelet_service {

/// A device plugin on a real socket that does as the test says, well or badly.
class ScriptedPlugin final {
 public:
  enum class Reply {
    kAnswer,
    kFail,           ///< Status Internal, "it broke".
    kUnimplemented,  ///< As of a server that does not have the method.
    kHang,           ///< Keeps the call and never answers.
    kDie,            ///< Closes all connections and removes the socket.
    kGarbage,        ///< Answers with bytes that are no message.
    kEmpty,          ///< Answers with an empty message.
  };

  ScriptedPlugin(loop::EventLoop& loop, base::Log& log, std::string path)
      : loop_(loop), log_(log), path_(std::move(path)) {}

  /// By method, wire::kAllocate and the like; kAnswer where nothing is said.
  std::map<std::string, Reply, std::less<>> on;
  api::PluginOptions options;
  std::vector<std::string> preferred;
  std::vector<std::string> asked;  ///< Methods, in the order of the calls.
  std::vector<std::vector<std::string>> allocated;
  std::vector<std::vector<std::string>> pre_started;
  int streams_closed = 0;

  /// Listens; done apart so that a test may register before.
  void Listen() {
    server_ = *rpc::Server::Listen(loop_, log_, path_, {});
    Add(wire::kGetDevicePluginOptions,
        [this](std::string_view) { return wire::EncodePluginOptions(options); });
    Add(wire::kAllocate, [this](std::string_view bytes) {
      auto containers = *wire::DecodeAllocateRequest(bytes);
      std::vector<ContainerAllocation> answers;
      for (const api::AllocateRequest& container : containers) {
        allocated.push_back(container.device_ids);
        ContainerAllocation& answer = answers.emplace_back();
        for (const std::string& id : container.device_ids) {
          answer.env["DEVICE_" + id] = "1";
          answer.device_nodes.push_back({"/dev/" + id, "/dev/host-" + id, "rw"});
        }
      }
      return wire::EncodeAllocateResponse(answers);
    });
    Add(wire::kGetPreferredAllocation,
        [this](std::string_view) { return wire::EncodePreferredResponse({preferred}); });
    Add(wire::kPreStartContainer, [this](std::string_view bytes) {
      pre_started.push_back(*wire::DecodePreStartRequest(bytes));
      return std::string();
    });
    server_->AddStream(std::string(wire::kListAndWatch),
                       [this](std::string_view, std::unique_ptr<rpc::ServerStream> stream) {
                         asked.emplace_back(wire::kListAndWatch);
                         switch (on[std::string(wire::kListAndWatch)]) {
                           case Reply::kFail:
                             return stream->Finish({rpc::StatusCode::kInternal, "it broke"});
                           case Reply::kDie:
                             return DieLater();
                           default:
                             break;
                         }
                         stream->OnClosed([this] { ++streams_closed; });
                         streams_.push_back(std::move(stream));
                         Send();
                       });
  }

  void SendList(const std::vector<Device>& devices) {
    list_ = std::make_shared<const std::string>(wire::EncodeDeviceList(devices));
    Send();
  }
  void SendHealthy(const std::vector<std::string>& ids) {
    std::vector<Device> devices;
    for (const std::string& id : ids)
      devices.push_back({.id = {id}});
    SendList(devices);
  }
  void SendBytes(std::string bytes) {
    list_ = std::make_shared<const std::string>(std::move(bytes));
    Send();
  }
  /// The process goes on; its streams end.
  void FinishStreams(const rpc::Status& status) {
    for (auto& stream : std::exchange(streams_, {}))
      stream->Finish(status);
  }
  void Die() {
    held_.clear();
    streams_.clear();
    server_.reset();
  }

 private:
  template <class Answer>
  void Add(std::string_view method, Answer answer) {
    server_->AddUnary(std::string(method),
                      [this, name = std::string(method), answer](
                          std::string_view bytes, std::unique_ptr<rpc::UnaryCall> call) {
                        asked.push_back(name);
                        switch (on[name]) {
                          case Reply::kAnswer:
                            return call->Reply(answer(bytes));
                          case Reply::kFail:
                            return call->Fail({rpc::StatusCode::kInternal, "it broke"});
                          case Reply::kUnimplemented:
                            return call->Fail({rpc::StatusCode::kUnimplemented, "unknown method"});
                          case Reply::kGarbage:
                            return call->Reply("\xff\xff\xff");
                          case Reply::kEmpty:
                            return call->Reply("");
                          case Reply::kDie:
                            DieLater();
                            [[fallthrough]];
                          case Reply::kHang:
                            held_.push_back(std::move(call));
                        }
                      });
  }
  void DieLater() {
    dying_ = loop_.timers().After({}, [this] { Die(); });
  }
  void Send() {
    for (auto& stream : streams_)
      if (list_ != nullptr && !stream->closed()) stream->Write(list_, [] {});
  }

  loop::EventLoop& loop_;
  base::Log& log_;
  const std::string path_;
  std::unique_ptr<rpc::Server> server_;
  std::vector<std::unique_ptr<rpc::UnaryCall>> held_;
  std::vector<std::unique_ptr<rpc::ServerStream>> streams_;
  rpc::Payload list_;
  loop::TimerHandle dying_;
};

}  // namespace tenon::kubelet_service
