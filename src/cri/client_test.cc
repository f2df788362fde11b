#include "cri/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "cri/messages.h"
#include "rpc/server.h"

namespace tenon::cri {
namespace {

struct ClientTest : ::testing::Test {
  ClientTest() {
    std::string pattern = ::testing::TempDir() + "tenon-cri-XXXXXX";
    directory = ::mkdtemp(pattern.data());
  }
  ~ClientTest() override {
    server.reset();
    ::rmdir(directory.c_str());
  }
  void Serve(const std::string& answer) {
    server.reset();
    server = *rpc::Server::Listen(*loop, log, directory + "/r.sock", {});
    server->AddUnary(std::string(kVersion),
                     [answer](std::string_view, const std::unique_ptr<rpc::UnaryCall>& call) {
                       if (answer.empty())
                         return call->Fail({rpc::StatusCode::kNotFound, "no such container"});
                       call->Reply(answer);
                     });
  }
  Result<std::string> Ask() {
    std::optional<Result<std::string>> answer;
    const auto call = client->Call(kVersion, EncodeVersionRequest(), std::chrono::seconds(20),
                                   [&](Result<std::string> result) { answer = std::move(result); });
    EXPECT_TRUE(loop->RunUntil([&] { return answer.has_value(); }, std::chrono::seconds(20)));
    return *answer;
  }

  base::SystemClock clock;
  base::NullLog log;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::string directory;
  std::unique_ptr<rpc::Server> server;
  std::unique_ptr<Client> client;
};

TEST_F(ClientTest, ConnectsWhenItIsNeededAndAnewWhenTheRuntimeWasRestarted) {
  client = std::make_unique<Client>(*loop, directory + "/r.sock");
  EXPECT_EQ(Ask().error().code(), Code::kUnavailable);

  Serve("one");
  EXPECT_EQ(*Ask(), "one");
  Serve("two");
  // The loss of the connection may be seen by this call only.
  auto answer = Ask();
  if (!answer) answer = Ask();
  EXPECT_EQ(*answer, "two");
}

TEST_F(ClientTest, WhatTheRuntimeSaysIsTheError) {
  client = std::make_unique<Client>(*loop, directory + "/r.sock");
  Serve("");

  const auto answer = Ask();

  EXPECT_EQ(answer.error().code(), Code::kNotFound);
  EXPECT_EQ(answer.error().message(), "rpc error: code = NotFound desc = no such container");
}

TEST_F(ClientTest, ACallThatIsDestroyedIsNotAnswered) {
  client = std::make_unique<Client>(*loop, directory + "/r.sock");
  Serve("one");
  bool answered = false;

  auto call = client->Call(kVersion, "", std::chrono::seconds(20),
                           [&](const Result<std::string>&) { answered = true; });
  call.reset();
  EXPECT_EQ(*Ask(), "one");

  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace tenon::cri
