#include "tenon/kubelet/control_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "admin/http_client.h"
#include "tenon/kubelet/fakes_for_test.h"
#include "value/value.h"

namespace tenon::kubelet {
namespace {

using admin::HttpRequest;
using admin::HttpResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Manifest(const std::string& name) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", uid: " + name +
         "}\nspec:\n  restartPolicy: Never\n  containers:\n"
         "  - {name: main, image: image, command: [/bin/true]}\n";
}

struct ControlApiTest : FakePodWorld {
  std::unique_ptr<host::Host> machine = *host::PosixHost::Open("/");
  Pods pods{Environment()};
  ControlApi api{{.loop = *loop,
                  .pods = pods,
                  .store = *store,
                  .devices = devices,
                  .machine = *machine,
                  .image_dir = "/images",
                  .cdi_directories = {},
                  .node_name = "lab",
                  .started = clock.WallNow()}};
  std::unique_ptr<admin::HttpServer> server = std::make_unique<admin::HttpServer>(*loop);

  ControlApiTest() {
    api.AddRoutes(*server);
    EXPECT_TRUE(server->ListenUnix(tree.Real("/control/sock")));
  }

  std::unique_ptr<admin::HttpFetch> Begin(HttpRequest request, std::optional<HttpResponse>& into) {
    return admin::HttpFetch::Start(*loop, tree.Real("/control/sock"), request, {},
                                   [&into](Result<HttpResponse> response) {
                                     EXPECT_TRUE(response);
                                     into = response ? *std::move(response) : HttpResponse{};
                                   });
  }
  HttpResponse Call(HttpRequest request) {
    std::optional<HttpResponse> response;
    const auto fetch = Begin(std::move(request), response);
    EXPECT_TRUE(Await([&response] { return response.has_value(); }));
    return response.value_or(HttpResponse{});
  }
  HttpResponse Post(const std::string& body) {
    return Call({.method = "POST", .path = "/api/v1/pods", .body = body});
  }
  HttpResponse Get(const std::string& path, std::map<std::string, std::string> query = {}) {
    return Call({.path = path, .query = std::move(query)});
  }
  static Value Json(const HttpResponse& response) {
    auto value = ParseJson(response.body, "response");
    EXPECT_TRUE(value) << response.body;
    return value ? *std::move(value) : Value();
  }
  static std::string TextOf(const Value& value, const std::string& key) {
    const Value* found = value.Find(key);
    return found ? found->text() : "";
  }
  void StartPod(const std::string& name) {
    EXPECT_EQ(Post(Manifest(name)).status, 201);
    EXPECT_TRUE(Await([&] { return runtime.Runs(name + ".main"); }));
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(store->OutputPath(name, "main"), std::ios::app) << text;
  }
};

TEST_F(ControlApiTest, ATrialTellsWhatARuntimeWouldBeToldAndLeavesNothing) {
  const auto attempt = [this](const std::string& format) {
    return Call({.method = "POST",
                 .path = "/api/v1/trials",
                 .query = {{"format", format}},
                 .body = Manifest("a")});
  };
  const Value cri = Json(attempt("cri"));
  ASSERT_EQ(TextOf(cri, "admitted"), "true");
  const Value& container = cri.Find("containers")->items()[0];
  EXPECT_EQ(container.Find("name")->text(), "main");
  EXPECT_EQ(ToJson(*container.At({"config", "command"})), R"(["/bin/true"])");
  EXPECT_EQ(container.At({"config", "image", "image"})->text(), "image");

  const Value oci = Json(attempt("oci"));
  EXPECT_EQ(ToJson(*oci.Find("containers")->items()[0].At({"config", "process", "args"})),
            R"(["/bin/true"])");

  EXPECT_TRUE(pods.all().empty());
  EXPECT_EQ(runtime.asked.size(), 0U);
  EXPECT_THAT(devices.asked.back(), ::testing::StartsWith("remove "));
  EXPECT_EQ(attempt("xml").status, 400);
}

TEST_F(ControlApiTest, ATrialOfAPodThatIsRefusedSaysWhy) {
  devices.refusal = {.reason = "UnexpectedAdmissionError", .message = "no device"};

  const Value answer = Json(Call({.method = "POST",
                                  .path = "/api/v1/trials",
                                  .query = {{"format", "cri"}},
                                  .body = Manifest("a")}));

  EXPECT_EQ(ToJson(answer),
            R"({"admitted":false,"reason":"UnexpectedAdmissionError","message":"no device"})");
}

TEST_F(ControlApiTest, AContainersStartThatCannotBePreparedIsToldInItsPlace) {
  devices.prepare_error = "endpoint has been stopped";

  const Value answer = Json(Call({.method = "POST",
                                  .path = "/api/v1/trials",
                                  .query = {{"format", "cri"}},
                                  .body = Manifest("a")}));

  EXPECT_EQ(answer.Find("containers")->items()[0].Find("error")->text(),
            "endpoint has been stopped");
}

TEST_F(ControlApiTest, AManifestBecomesPodsThatLookLikeOnesOfACluster) {
  const HttpResponse response = Post(Manifest("a") + "---\n" + Manifest("b"));

  ASSERT_EQ(response.status, 201) << response.body;
  const Value body = Json(response);
  ASSERT_EQ(body.Find("items")->items().size(), 2u);
  const Value& pod = body.Find("items")->items()[1];
  EXPECT_EQ(pod.Find("kind")->text(), "Pod");
  EXPECT_EQ(pod.At({"metadata", "name"})->text(), "b");
  EXPECT_NE(pod.At({"metadata", "creationTimestamp"}), nullptr);
  EXPECT_EQ(pod.At({"status", "phase"})->text(), "Pending");
  const Value& status = pod.At({"status", "containerStatuses"})->items()[0];
  EXPECT_EQ(ToJson(*status.Find("allocatedDevices")),
            R"([{"resourceName":"example.com/x","deviceIDs":["dev-main"]}])");
}

TEST_F(ControlApiTest, ADeviceThatBecomesUnhealthyIsShownWithThePodThatHoldsIt) {
  ASSERT_EQ(Post(Manifest("a")).status, 201);
  devices.healthy = false;

  const Value pod = Json(Get("/api/v1/pods/default/a"));

  EXPECT_EQ(
      ToJson(*pod.At({"status", "containerStatuses"})->items()[0].Find("allocatedResourcesStatus")),
      R"([{"name":"example.com/x","resources":[)"
      R"({"resourceID":"dev-main","health":"Unhealthy"}]}])");
}

TEST_F(ControlApiTest, ARefusedPodIsAnsweredLikeAnAdmittedOne) {
  devices.refusal = {.reason = "UnexpectedAdmissionError", .message = "no device"};

  const HttpResponse response = Post(Manifest("a"));

  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(Json(response).Find("items")->items()[0].At({"status", "reason"})->text(),
            "UnexpectedAdmissionError");
}

TEST_F(ControlApiTest, AllThatIsWrongWithAManifestIsToldAtOnce) {
  const HttpResponse response = Post("apiVersion: v1\nkind: Pod\nspec: {volumes: []}\n");

  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(Json(response).Find("errors")->items().size(), 3u);
  EXPECT_THAT(response.body, HasSubstr("manifest:3:8: spec.volumes: is not supported"));
  EXPECT_TRUE(pods.all().empty());
}

TEST_F(ControlApiTest, ANameThatIsTakenIsAConflict) {
  ASSERT_EQ(Post(Manifest("a")).status, 201);

  const HttpResponse response = Post(Manifest("b") + "---\n" + Manifest("a"));

  EXPECT_EQ(response.status, 409);
  EXPECT_THAT(response.body, HasSubstr("pod default/a already exists"));
  EXPECT_EQ(Get("/api/v1/pods/default/b").status, 404);
}

TEST_F(ControlApiTest, PodsAreListedByNameAndFoundByIt) {
  Post(Manifest("b"));
  Post(Manifest("a"));

  const Value list = Json(Get("/api/v1/pods"));
  std::vector<std::string> names;
  for (const Value& item : list.Find("items")->items()) {
    names.push_back(item.At({"metadata", "name"})->text());
  }

  EXPECT_THAT(names, ElementsAre("a", "b"));
  EXPECT_EQ(Json(Get("/api/v1/pods/default/a")).At({"metadata", "uid"})->text(), "a");
  EXPECT_EQ(Get("/api/v1/pods/default/c").status, 404);
  EXPECT_EQ(Get("/api/v1/pods/other/a").status, 404);
}

TEST_F(ControlApiTest, DeletionIsAnsweredWhenNothingIsLeft) {
  StartPod("a");

  EXPECT_EQ(Call({.method = "DELETE", .path = "/api/v1/pods/default/a"}).status, 200);

  EXPECT_FALSE(runtime.Knows("a.main"));
  EXPECT_EQ(Get("/api/v1/pods/default/a").status, 404);
  EXPECT_EQ(Call({.method = "DELETE", .path = "/api/v1/pods/default/a"}).status, 404);
}

TEST_F(ControlApiTest, AGraceThatIsNoneIsRefusedAndNothingDeleted) {
  StartPod("a");

  for (const char* grace : {"-1", "x", "", "86401", "1.5"}) {
    const HttpResponse response =
        Call({.method = "DELETE", .path = "/api/v1/pods/default/a", .query = {{"grace", grace}}});
    EXPECT_EQ(response.status, 400) << grace;
    EXPECT_THAT(response.body, HasSubstr("grace: must be a number from 0 to 86400"));
  }
  EXPECT_TRUE(runtime.Runs("a.main"));
}

TEST_F(ControlApiTest, TheLogIsReadFromAnyOffset) {
  StartPod("a");
  Write("a", "hello world");

  const HttpResponse all = Get("/api/v1/pods/default/a/log");
  EXPECT_EQ(all.body, "hello world");
  EXPECT_EQ(all.content_type, "text/plain");
  EXPECT_EQ(Get("/api/v1/pods/default/a/log", {{"container", "main"}, {"offset", "6"}}).body,
            "world");
  EXPECT_EQ(Get("/api/v1/pods/default/a/log", {{"offset", "100"}}).body, "");
}

TEST_F(ControlApiTest, ALogThatIsWaitedForIsAnsweredOnceThereIsSomeOrTheContainerHasEnded) {
  StartPod("a");
  std::optional<HttpResponse> response;

  auto fetch = Begin({.path = "/api/v1/pods/default/a/log", .query = {{"wait", "60"}}}, response);
  Settle();
  EXPECT_FALSE(response);
  Write("a", "more");
  ASSERT_TRUE(Await([&response] { return response.has_value(); }));
  EXPECT_EQ(response->body, "more");

  response.reset();
  fetch = Begin({.path = "/api/v1/pods/default/a/log", .query = {{"wait", "60"}, {"offset", "4"}}},
                response);
  Settle();
  EXPECT_FALSE(response);
  runtime.End("a.main", 0);
  ASSERT_TRUE(Await([&response] { return response.has_value(); }));
  EXPECT_EQ(response->body, "");
}

TEST_F(ControlApiTest, AWaitForALogEndsWithThePod) {
  StartPod("a");
  std::optional<HttpResponse> response;
  const auto fetch =
      Begin({.path = "/api/v1/pods/default/a/log", .query = {{"wait", "60"}}}, response);
  Settle();

  Call({.method = "DELETE", .path = "/api/v1/pods/default/a"});

  ASSERT_TRUE(Await([&response] { return response.has_value(); }));
  EXPECT_EQ(response->status, 200);
}

TEST_F(ControlApiTest, AClientThatStopsWaitingForALogIsForgotten) {
  StartPod("a");
  std::optional<HttpResponse> response;
  auto fetch = Begin({.path = "/api/v1/pods/default/a/log", .query = {{"wait", "60"}}}, response);
  Settle();

  fetch.reset();

  Write("a", "more");
  EXPECT_EQ(Get("/api/v1/pods/default/a/log").body, "more");
  EXPECT_FALSE(response);
}

TEST_F(ControlApiTest, RequestsForLogsThatAreWrongSayWhy) {
  Post(Manifest("a") + "  - {name: second, image: image, command: [/bin/true]}\n");

  EXPECT_THAT(Get("/api/v1/pods/default/a/log").body, HasSubstr("container: which one?"));
  EXPECT_EQ(Get("/api/v1/pods/default/a/log", {{"container", "third"}}).status, 404);
  EXPECT_EQ(Get("/api/v1/pods/default/b/log").status, 404);
  EXPECT_EQ(Get("/api/v1/pods/default/a/log", {{"container", "main"}, {"offset", "-1"}}).status,
            400);
  EXPECT_EQ(Get("/api/v1/pods/default/a/log", {{"container", "main"}, {"wait", "301"}}).status,
            400);
}

TEST_F(ControlApiTest, TheNodeShowsWhatAKubeNodesStatusShows) {
  devices.capacity = {{"example.com/x", 4, 3}};

  const Value node = Json(Get("/api/v1/node"));

  EXPECT_EQ(ToJson(node),
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"lab"},"status":)"
            R"({"capacity":{"example.com/x":"4"},"allocatable":{"example.com/x":"3"}}})");
}

TEST_F(ControlApiTest, TheStatusTellsWhoHoldsWhat) {
  devices.capacity = {{"example.com/x", 4, 3}, {"example.com/y", 1, 0}};
  devices.lost = "example.com/y";
  StartPod("a");

  const Value status = Json(Get("/api/v1/status"));

  EXPECT_EQ(
      ToJson(status.Find("resources")->items()[0]),
      R"({"name":"example.com/x","plugin":"registered","capacity":4,"healthy":3,"unhealthy":1,"inUse":1,)"
      R"("heldBy":[{"namespace":"default","pod":"a","container":"main",)"
      R"("deviceIDs":["dev-main"]}]})");
  EXPECT_EQ(status.Find("resources")->items()[1].Find("plugin")->text(), "lost");
  EXPECT_NE(status.Find("version"), nullptr);
  EXPECT_EQ(Get("/healthz").body, "ok\n");
}

}  // namespace
}  // namespace tenon::kubelet
