#include "base/metrics.h"

#include <gtest/gtest.h>

namespace tenon::base {
namespace {

TEST(Metrics, RendersFamiliesSortedWithEscapedLabels) {
  MetricsRegistry metrics;
  metrics.GetGauge("tenon_devices", "Devices.", {{"resource", "a\"b\n"}}).Set(3);
  metrics.GetCounter("tenon_a_total", "Things.").Add();

  EXPECT_EQ(
      "# HELP tenon_a_total Things.\n# TYPE tenon_a_total counter\ntenon_a_total 1\n"
      "# HELP tenon_devices Devices.\n# TYPE tenon_devices gauge\n"
      "tenon_devices{resource=\"a\\\"b\\n\"} 3\n",
      metrics.RenderText());
}

TEST(Metrics, HistogramBucketsAreCumulativeAndInclusive) {
  MetricsRegistry metrics;
  Histogram& histogram = metrics.GetHistogram("t", "T.", {0.1, 1});
  for (double value : {0.1, 0.5, 7.0})
    histogram.Observe(value);

  EXPECT_EQ(
      "# HELP t T.\n# TYPE t histogram\nt_bucket{le=\"0.1\"} 1\nt_bucket{le=\"1\"} 2\n"
      "t_bucket{le=\"+Inf\"} 3\nt_sum 7.6\nt_count 3\n",
      metrics.RenderText());
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameMetric) {
  MetricsRegistry metrics;
  metrics.GetCounter("c", "C.", {{"r", "x"}}).Add();
  metrics.GetCounter("c", "C.", {{"r", "x"}}).Add();

  EXPECT_EQ(2, metrics.GetCounter("c", "C.", {{"r", "x"}}).value());
}

TEST(Metrics, RemoveSeriesForgetsOnlyThatLabel) {
  MetricsRegistry metrics;
  metrics.GetGauge("g", "G.", {{"resource", "x"}}).Set(1);
  metrics.GetGauge("g", "G.", {{"resource", "y"}}).Set(2);

  metrics.RemoveSeries("resource", "x");

  EXPECT_EQ("# HELP g G.\n# TYPE g gauge\ng{resource=\"y\"} 2\n", metrics.RenderText());
}

}  // namespace
}  // namespace tenon::base
