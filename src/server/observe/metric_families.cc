#include "server/observe/metric_families.h"

#include "base/check.h"

namespace millrace::server::observe {

MetricFamilies::MetricFamilies() {
  for (const MetricInfo& info : all_metrics()) {
    const std::string name(info.name), help(info.help);
    switch (info.kind) {
      case MetricKind::kCounter:
        counters_[info.name] = &prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
        break;
      case MetricKind::kGauge:
        gauges_[info.name] = &prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
        break;
      case MetricKind::kHistogram:
        histograms_[info.name] = {&prometheus::BuildHistogram().Name(name).Help(help).Register(registry_),
                                  info.buckets};
        break;
    }
  }
}

prometheus::Counter& MetricFamilies::counter(std::string_view name, const prometheus::Labels& labels) {
  CHECK(counters_.contains(name));
  return counters_.at(name)->Add(labels);
}

prometheus::Gauge& MetricFamilies::gauge(std::string_view name, const prometheus::Labels& labels) {
  CHECK(gauges_.contains(name));
  return gauges_.at(name)->Add(labels);
}

void MetricFamilies::remove(std::string_view name, prometheus::Gauge& gauge) {
  CHECK(gauges_.contains(name));
  gauges_.at(name)->Remove(&gauge);
}

prometheus::Histogram& MetricFamilies::histogram(std::string_view name, const prometheus::Labels& labels) {
  CHECK(histograms_.contains(name));
  const HistogramFamily& found = histograms_.at(name);
  return found.family->Add(labels, prometheus::Histogram::BucketBoundaries(found.buckets.begin(), found.buckets.end()));
}

}  // namespace millrace::server::observe
