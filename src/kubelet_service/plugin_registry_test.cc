#include "kubelet_service/plugin_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "host/temp_tree.h"
#include "kubelet_service/kubelet_service.h"
#include "kubelet_service/scripted_plugin_for_test.h"

namespace tenon::kubelet_service {
namespace {

using manager::ResourceCapacity;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kResource[] = "example.com/vf";

/// A plugin's registration socket; the service itself is a ScriptedPlugin.
class RegistrationSocket final {
 public:
  RegistrationSocket(loop::EventLoop& loop, base::Log& log, const std::string& path)
      : server_(*rpc::Server::Listen(loop, log, path, {})) {
    server_->AddUnary(std::string(wire::kGetInfo),
                      [this](std::string_view, std::unique_ptr<rpc::UnaryCall> call) {
                        ++asked;
                        if (hang) return held_.push_back(std::move(call));
                        call->Reply(wire::EncodePluginInfo(info));
                      });
    server_->AddUnary(std::string(wire::kNotifyRegistrationStatus),
                      [this](std::string_view bytes, std::unique_ptr<rpc::UnaryCall> call) {
                        auto status = *wire::DecodeRegistrationStatus(bytes);
                        told.push_back(status.registered ? "registered" : status.error);
                        if (refuse_news) return call->Fail({rpc::StatusCode::kInternal, "not now"});
                        call->Reply("");
                      });
  }

  api::PluginInfo info{
      .type = "DevicePlugin", .name = kResource, .endpoint = "", .supported_versions = {"v1beta1"}};
  bool hang = false;
  bool refuse_news = false;
  int asked = 0;
  std::vector<std::string> told;

 private:
  std::unique_ptr<rpc::Server> server_;
  std::vector<std::unique_ptr<rpc::UnaryCall>> held_;
};

class PluginRegistryTest : public testing::Test {
 protected:
  PluginRegistryTest() { std::filesystem::permissions(tree_.root(), std::filesystem::perms(0700)); }

  void Start() {
    service_ = *KubeletService::Start(
        *loop_, log_, *KubeletDirectory::Open(tree_.root() + "/kubelet", false), {});
  }
  std::string Path(const std::string& name) const {
    return tree_.root() + "/kubelet/plugins_registry/" + name;
  }
  std::unique_ptr<RegistrationSocket> Register(const std::string& name) {
    auto socket = std::make_unique<RegistrationSocket>(*loop_, log_, Path(name));
    socket->info.endpoint = tree_.root() + "/vf.sock";
    return socket;
  }
  bool RunUntil(const std::function<bool()>& done) { return loop_->RunUntil(done, seconds(25)); }
  bool Told(const std::unique_ptr<RegistrationSocket>& socket, size_t times = 1) {
    return RunUntil([&] { return socket->told.size() >= times; });
  }
  std::vector<ResourceCapacity> Capacity() { return service_->manager().Capacity(); }

  host::TempTree tree_;
  base::SystemClock clock_;
  base::RecordingLog log_;
  std::unique_ptr<loop::EventLoop> loop_ = *loop::EventLoop::Create(clock_);
  std::unique_ptr<KubeletService> service_;
  ScriptedPlugin plugin_{*loop_, log_, tree_.root() + "/vf.sock"};
};

// PW-01 TestPluginRegistration, PW-07.
TEST_F(PluginRegistryTest, ASocketThatAppearsIsRegisteredAndOneThatGoesIsLost) {
  Start();
  plugin_.Listen();
  plugin_.SendHealthy({"a", "b"});

  auto socket = Register("vf-reg.sock");
  ASSERT_TRUE(Told(socket));
  EXPECT_THAT(socket->told, ElementsAre("registered"));
  EXPECT_TRUE(RunUntil([&] {
    return Capacity() == std::vector<ResourceCapacity>{{kResource, 2, 2}};
  }));

  socket.reset();  // Removes it.
  EXPECT_TRUE(RunUntil([&] {
    return Capacity() == std::vector<ResourceCapacity>{{kResource, 2, 0}};
  }));
  EXPECT_TRUE(RunUntil([&] { return plugin_.streams_closed == 1; }));
}

// PW-04 TestPluginRegistrationAtKubeletStart.
TEST_F(PluginRegistryTest, SocketsThatAreThereBeforeAreFound) {
  tree_.Directory("/kubelet/plugins_registry/vendor");
  for (const char* directory : {"/kubelet", "/kubelet/plugins_registry"})
    std::filesystem::permissions(tree_.Real(directory), std::filesystem::perms(0700));
  plugin_.Listen();
  auto socket = Register("vendor/vf-reg.sock");

  Start();

  EXPECT_TRUE(Told(socket));
  EXPECT_THAT(socket->told, ElementsAre("registered"));
}

TEST_F(PluginRegistryTest, SocketsInNewDirectoriesAreFoundAndHiddenOnesAreNot) {
  Start();
  plugin_.Listen();
  auto hidden = Register(".hidden.sock");
  tree_.File("/kubelet/plugins_registry/a-file", "");
  tree_.Directory("/kubelet/plugins_registry/vendor/deeper");

  auto socket = Register("vendor/deeper/vf-reg.sock");

  EXPECT_TRUE(Told(socket));
  EXPECT_EQ(hidden->asked, 0);
}

// PW-03 TestPluginReRegistration.
TEST_F(PluginRegistryTest, ASocketThatIsMadeAnewIsRegisteredAnew) {
  Start();
  plugin_.Listen();
  plugin_.SendHealthy({"a"});
  auto socket = Register("vf-reg.sock");
  ASSERT_TRUE(Told(socket));

  socket.reset();
  socket = Register("vf-reg.sock");

  EXPECT_TRUE(Told(socket));
  EXPECT_TRUE(RunUntil([&] {
    return Capacity() == std::vector<ResourceCapacity>{{kResource, 1, 1}};
  }));
}

TEST_F(PluginRegistryTest, ASocketThatGetsAnotherModeIsStillTheSame) {
  Start();
  plugin_.Listen();
  auto socket = Register("vf-reg.sock");
  ASSERT_TRUE(Told(socket));

  std::filesystem::permissions(Path("vf-reg.sock"), std::filesystem::perms(0700));
  auto later = Register("later.sock");  // For another look at the directory.

  ASSERT_TRUE(Told(later));
  EXPECT_THAT(socket->told, ElementsAre("registered"));
}

// PW-02 TestPluginRegistrationSameName.
TEST_F(PluginRegistryTest, TenSocketsOfOneNameAreAllRegistered) {
  Start();
  plugin_.Listen();
  plugin_.SendHealthy({"a"});
  std::vector<std::unique_ptr<RegistrationSocket>> sockets;
  for (int i = 0; i < 10; ++i)
    sockets.push_back(Register("vf-" + std::to_string(i) + ".sock"));

  for (const auto& socket : sockets)
    EXPECT_TRUE(Told(socket));
  EXPECT_TRUE(RunUntil([&] {
    return Capacity() == std::vector<ResourceCapacity>{{kResource, 1, 1}};
  }));
}

TEST_F(PluginRegistryTest, APluginIsToldWhyItWasNotRegistered) {
  Start();
  auto other = Register("csi.sock");
  other->info.type = "CSIPlugin";
  auto old = Register("old.sock");
  old->info.supported_versions = {"v1alpha1"};
  auto failing = Register("failing.sock");
  plugin_.on[std::string(wire::kGetDevicePluginOptions)] = ScriptedPlugin::Reply::kFail;
  plugin_.Listen();

  ASSERT_TRUE(Told(other) && Told(old) && Told(failing));

  EXPECT_EQ(other->told[0],
            "RegisterPlugin error -- no handler registered for plugin type: CSIPlugin at socket " +
                Path("csi.sock"));
  EXPECT_EQ(old->told[0],
            "RegisterPlugin error -- plugin validation failed with err: manager version, v1beta1, "
            "is not among plugin supported versions [v1alpha1]");
  EXPECT_EQ(failing->told[0],
            "RegisterPlugin error -- plugin registration failed with err: failed to get device "
            "plugin options: rpc error: code = Internal desc = it broke");
  EXPECT_THAT(Capacity(), IsEmpty());
}

TEST_F(PluginRegistryTest, WhatFailsIsTriedAgain) {
  Start();
  plugin_.Listen();
  auto socket = Register("vf-reg.sock");
  socket->info.name = "gpu";
  ASSERT_TRUE(Told(socket));
  EXPECT_THAT(socket->told[0], HasSubstr("the ResourceName \"gpu\" is invalid"));

  socket->info.name = kResource;

  ASSERT_TRUE(Told(socket, 2));
  EXPECT_EQ(socket->told[1], "registered");
}

TEST_F(PluginRegistryTest, APluginThatDoesNotTakeTheNewsIsNotRegistered) {
  Start();
  plugin_.Listen();
  plugin_.SendHealthy({"a"});
  auto socket = Register("vf-reg.sock");
  socket->refuse_news = true;

  ASSERT_TRUE(Told(socket, 1));
  EXPECT_TRUE(RunUntil([&] { return plugin_.streams_closed >= 1; }));
  socket->refuse_news = false;
  EXPECT_TRUE(RunUntil([&] {
    return Capacity() == std::vector<ResourceCapacity>{{kResource, 1, 1}};
  }));
}

// PW-06: one that hangs holds up no other.
TEST_F(PluginRegistryTest, ASocketThatHangsHoldsUpNoOther) {
  Start();
  plugin_.Listen();
  auto hanging = Register("a-hanging.sock");
  hanging->hang = true;
  auto socket = Register("vf-reg.sock");

  EXPECT_TRUE(Told(socket));
  EXPECT_EQ(hanging->asked, 1);
  EXPECT_THAT(hanging->told, IsEmpty());
}

}  // namespace
}  // namespace tenon::kubelet_service
