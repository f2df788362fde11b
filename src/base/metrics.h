#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::base {

/// Label names and values, in the order in which they are shown.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// A value that only grows. Thread: that of its registry.
class Counter {
 public:
  void Add(double amount = 1) { value_ += amount; }
  double value() const { return value_; }

 private:
  double value_ = 0;
};

/// A value that goes both ways.
class Gauge {
 public:
  void Set(double value) { value_ = value; }
  double value() const { return value_; }

 private:
  double value_ = 0;
};

/// Counts observations in buckets with the given upper bounds (ascending, without +Inf).
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void Observe(double value);
  const std::vector<double>& bounds() const { return bounds_; }
  const std::vector<uint64_t>& counts() const { return counts_; }  ///< Not cumulative.
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

/// The metrics of one process, owned by its loop thread and rendered on demand.
///
/// Asking twice for the same name and labels gives the same metric; references stay valid as
/// long as the registry, except those to metrics that RemoveSeries() took away.
/// Thread: loop only. Source: Prometheus text exposition format 0.0.4.
class MetricsRegistry final {
 public:
  MetricsRegistry() = default;
  MetricsRegistry(const MetricsRegistry&) = delete;
  MetricsRegistry& operator=(const MetricsRegistry&) = delete;

  Counter& GetCounter(std::string_view name, std::string_view help, MetricLabels labels = {});
  Gauge& GetGauge(std::string_view name, std::string_view help, MetricLabels labels = {});
  Histogram& GetHistogram(std::string_view name, std::string_view help, std::vector<double> bounds,
                          MetricLabels labels = {});

  /// Drops every series of every metric that carries this label, say of a resource that is gone.
  void RemoveSeries(std::string_view label, std::string_view value);

  /// All metrics in the text format, families sorted by name.
  std::string RenderText() const;

 private:
  template <class T>
  struct Family {
    std::string help;
    std::map<MetricLabels, std::unique_ptr<T>> series;
  };
  std::map<std::string, Family<Counter>, std::less<>> counters_;
  std::map<std::string, Family<Gauge>, std::less<>> gauges_;
  std::map<std::string, Family<Histogram>, std::less<>> histograms_;
};

}  // namespace tenon::base
