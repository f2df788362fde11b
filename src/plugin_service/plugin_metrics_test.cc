#include "plugin_service/plugin_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::plugin_service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct PluginMetricsTest : ::testing::Test {
  base::MetricsRegistry registry;
};

TEST_F(PluginMetricsTest, CountsCallsByMethodAndCode) {
  PluginMetrics metrics(registry, "example.com/a");

  metrics.OnCall("Allocate", rpc::StatusCode::kOk, std::chrono::microseconds(200));
  metrics.OnCall("Allocate", rpc::StatusCode::kNotFound, std::chrono::microseconds(200));

  EXPECT_THAT(registry.RenderText(),
              HasSubstr("tenon_plugin_calls_total{resource=\"example.com/a\",method=\"Allocate\","
                        "code=\"NotFound\"} 1\n"));
  EXPECT_THAT(registry.RenderText(),
              HasSubstr("tenon_plugin_call_seconds_bucket{resource=\"example.com/a\","
                        "method=\"Allocate\",le=\"0.0005\"} 2\n"));
}

TEST_F(PluginMetricsTest, CountsDevicesByHealth) {
  PluginMetrics metrics(registry, "example.com/a");

  metrics.SetDevices({{.id = {"1"}}, {.id = {"2"}, .health = Health::kUnhealthy}, {.id = {"3"}}},
                     77);

  EXPECT_THAT(registry.RenderText(),
              HasSubstr("tenon_devices{resource=\"example.com/a\",health=\"healthy\"} 2\n"));
  EXPECT_THAT(registry.RenderText(),
              HasSubstr("tenon_devices{resource=\"example.com/a\",health=\"unhealthy\"} 1\n"));
  EXPECT_THAT(registry.RenderText(),
              HasSubstr("tenon_plugin_list_bytes{resource=\"example.com/a\"} 77\n"));
}

TEST_F(PluginMetricsTest, TheMetricsOfAResourceGoWithIt) {
  {
    PluginMetrics metrics(registry, "example.com/a");
    EXPECT_THAT(registry.RenderText(), HasSubstr("example.com/a"));
  }
  EXPECT_THAT(registry.RenderText(), Not(HasSubstr("example.com/a")));
}

}  // namespace
}  // namespace tenon::plugin_service
