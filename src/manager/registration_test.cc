#include "manager/registration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/fakes_for_test.h"

namespace tenon::manager {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Check(const api::RegisterRequest& request, bool any_endpoint = false) {
  Result<void> result = CheckRegisterRequest(request, any_endpoint);
  return result ? "ok" : result.error().message();
}

TEST(CheckRegisterRequestTest, WantsTheExactVersion) {
  EXPECT_EQ(Check({"v1beta1", "x.sock", "a.b/c", {}}), "ok");
  EXPECT_EQ(Check({"v1alpha1", "x.sock", "a.b/c", {}}),
            R"(requested API version "v1alpha1" is not supported by kubelet. Supported version is )"
            R"(["v1beta1"])");
  EXPECT_EQ(Check({"", "x.sock", "", {}}),
            R"(requested API version "" is not supported by kubelet. Supported version is )"
            R"(["v1beta1"])");
}

TEST(CheckRegisterRequestTest, WantsAnExtendedResourceName) {
  for (const char* good : {"vendor.com/gpu", "localhost/gpu", "vendor.com/GPU_a.b-c", "1.2/3"})
    EXPECT_EQ(Check({"v1beta1", "x.sock", good, {}}), "ok");
  for (const char* bad : {"gpu", "Vendor.com/gpu", "vendor.com/", "/gpu", "a/b/c", "hugepages-2Mi",
                          "notkubernetes.io/gpu", "requests.a.b/c", ""})
    EXPECT_EQ(Check({"v1beta1", "x.sock", bad, {}}),
              "the ResourceName \"" + std::string(bad) + "\" is invalid");
}

TEST(CheckRegisterRequestTest, WantsTheNameOfASocketBesideKubeletSock) {
  for (const char* bad : {"", ".", "..", "../x.sock", "a/b.sock", "/run/x.sock", "x/"}) {
    EXPECT_EQ(Check({"v1beta1", bad, "a.b/c", {}}),
              "the endpoint \"" + std::string(bad) +
                  "\" is invalid: it must be the name of a socket beside kubelet.sock");
    EXPECT_EQ(Check({"v1beta1", bad, "a.b/c", {}}, true), "ok");
  }
}

class RegistrationTest : public testing::Test {
 protected:
  void Start(const std::string& endpoint) {
    registration_ = std::make_unique<Registration>(
        timers_, dialer_,
        Registration::Deadlines{std::chrono::seconds(10), std::chrono::seconds(3)},
        [this](std::unique_ptr<PluginClient> client, api::PluginOptions options) {
          installed_ = std::move(client);
          options_ = options;
        },
        [this](const Result<void>& result) {
          answers_.push_back(result ? "ok" : result.error().message());
          registration_.reset();  // As the server does.
        });
    registration_->Start(endpoint);
  }

  loop::TimerQueue timers_{base::MonotonicTime(std::chrono::hours(1))};
  FakeDialer dialer_{timers_};
  FakePlugin plugin_;
  std::unique_ptr<Registration> registration_;
  std::unique_ptr<PluginClient> installed_;
  api::PluginOptions options_;
  std::vector<std::string> answers_;
};

// EP-01, TestNewEndpoint.
TEST_F(RegistrationTest, InstallsAPluginThatAnswers) {
  dialer_.sockets["x.sock"] = &plugin_;
  plugin_.options.pre_start_required = true;

  Start("x.sock");
  Settle(timers_);

  EXPECT_THAT(dialer_.dialled, ElementsAre("x.sock"));
  EXPECT_THAT(answers_, ElementsAre("ok"));
  EXPECT_NE(installed_, nullptr);
  EXPECT_TRUE(options_.pre_start_required);
}

TEST_F(RegistrationTest, FailsWhenNobodyListensFor10Seconds) {
  Start("x.sock");
  timers_.Advance(std::chrono::seconds(9));
  EXPECT_THAT(answers_, IsEmpty());
  timers_.Advance(std::chrono::seconds(1));
  Settle(timers_);

  EXPECT_THAT(answers_, ElementsAre("failed to dial device plugin: context deadline exceeded"));
}

// EP-06, TestConnectFailureCleanup; E-14.
TEST_F(RegistrationTest, ClosesTheConnectionOfAPluginWithoutOptions) {
  dialer_.sockets["x.sock"] = &plugin_;
  plugin_.on_options = Reply::kFail;

  Start("x.sock");
  Settle(timers_);

  EXPECT_THAT(answers_, ElementsAre("failed to get device plugin options: rpc error: code = "
                                    "Internal desc = it broke"));
  EXPECT_EQ(installed_, nullptr);
  EXPECT_FALSE(plugin_.connected());
}

TEST_F(RegistrationTest, GivesAPluginThatHangsItsDeadline) {
  dialer_.sockets["x.sock"] = &plugin_;
  plugin_.on_options = Reply::kHang;

  Start("x.sock");
  Settle(timers_);
  EXPECT_TRUE(plugin_.connected());
  timers_.Advance(std::chrono::seconds(3));
  Settle(timers_);

  EXPECT_THAT(answers_, ElementsAre("failed to get device plugin options: rpc error: code = "
                                    "DeadlineExceeded desc = context deadline exceeded"));
  EXPECT_FALSE(plugin_.connected());
}

TEST_F(RegistrationTest, GivesUpWhenDestroyedInAnyPhase) {
  dialer_.sockets["x.sock"] = &plugin_;
  for (int turns = 0; turns < 4; ++turns) {
    Start("x.sock");
    for (int i = 0; i < turns; ++i)
      timers_.Advance({});
    bool ended = registration_ == nullptr;
    registration_.reset();
    Settle(timers_);
    EXPECT_EQ(answers_.size(), ended ? 1U : 0U) << turns;
    installed_.reset();
    EXPECT_FALSE(plugin_.connected());
    answers_.clear();
  }
}

}  // namespace
}  // namespace tenon::manager
