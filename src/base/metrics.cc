#include "base/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::base {
namespace {

std::string EscapeLabel(std::string_view value) {
  std::string out;
  for (char c : value) {
    if (c == '\\' || c == '"') out.push_back('\\');
    if (c == '\n') {
      out.append("\\n");
    } else {
      out.push_back(c);
    }
  }
  return out;
}

/// {a="x",b="y"}, with `extra` as one more label; nothing when there is none.
std::string Braces(const MetricLabels& labels, std::string_view extra = {}) {
  std::string out;
  for (const auto& [name, value] : labels)
    out.append(fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, EscapeLabel(value)));
  if (!extra.empty()) out.append(out.empty() ? "" : ",").append(extra);
  return out.empty() ? out : "{" + out + "}";
}

void RenderSeries(std::string& out, const std::string& name, const MetricLabels& labels,
                  const Counter& counter) {
  out += fmt::format("{}{} {}\n", name, Braces(labels), counter.value());
}

void RenderSeries(std::string& out, const std::string& name, const MetricLabels& labels,
                  const Gauge& gauge) {
  out += fmt::format("{}{} {}\n", name, Braces(labels), gauge.value());
}

void RenderSeries(std::string& out, const std::string& name, const MetricLabels& labels,
                  const Histogram& histogram) {
  uint64_t below = 0;
  for (size_t i = 0; i < histogram.counts().size(); ++i) {
    below += histogram.counts()[i];
    std::string bound =
        i < histogram.bounds().size() ? fmt::format("{}", histogram.bounds()[i]) : "+Inf";
    out += fmt::format("{}_bucket{} {}\n", name, Braces(labels, fmt::format("le=\"{}\"", bound)),
                       below);
  }
  out += fmt::format("{}_sum{} {}\n", name, Braces(labels), histogram.sum());
  out += fmt::format("{}_count{} {}\n", name, Braces(labels), below);
}

template <class Families>
void RenderAll(std::map<std::string, std::string>& out, const Families& families,
               std::string_view type) {
  for (const auto& [name, family] : families) {
    if (family.series.empty()) continue;
    std::string text = fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, family.help, type);
    for (const auto& [labels, metric] : family.series)
      RenderSeries(text, name, labels, *metric);
    out[name] = std::move(text);
  }
}

template <class T, class Families, class... Args>
T& GetMetric(Families& families, std::string_view name, std::string_view help, MetricLabels labels,
             Args... args) {
  auto& family = families[std::string(name)];
  family.help = help;
  auto& slot = family.series[std::move(labels)];
  if (!slot) slot = std::make_unique<T>(std::move(args)...);
  return *slot;
}

template <class Families>
void Remove(Families& families, const std::pair<std::string, std::string>& label) {
  for (auto& [name, family] : families)
    std::erase_if(family.series, [&](const auto& entry) {
      return std::ranges::find(entry.first, label) != entry.first.end();
    });
}

}  // namespace

void Histogram::Observe(double value) {
  size_t bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  ++counts_[bucket];
  sum_ += value;
}

Counter& MetricsRegistry::GetCounter(std::string_view name, std::string_view help,
                                     MetricLabels labels) {
  return GetMetric<Counter>(counters_, name, help, std::move(labels));
}

Gauge& MetricsRegistry::GetGauge(std::string_view name, std::string_view help,
                                 MetricLabels labels) {
  return GetMetric<Gauge>(gauges_, name, help, std::move(labels));
}

Histogram& MetricsRegistry::GetHistogram(std::string_view name, std::string_view help,
                                         std::vector<double> bounds, MetricLabels labels) {
  return GetMetric<Histogram>(histograms_, name, help, std::move(labels), std::move(bounds));
}

void MetricsRegistry::RemoveSeries(std::string_view label, std::string_view value) {
  std::pair<std::string, std::string> wanted{label, value};
  Remove(counters_, wanted);
  Remove(gauges_, wanted);
  Remove(histograms_, wanted);
}

std::string MetricsRegistry::RenderText() const {
  std::map<std::string, std::string> families;
  RenderAll(families, counters_, "counter");
  RenderAll(families, gauges_, "gauge");
  RenderAll(families, histograms_, "histogram");
  std::string out;
  for (const auto& [name, text] : families)
    out += text;
  return out;
}

}  // namespace tenon::base
