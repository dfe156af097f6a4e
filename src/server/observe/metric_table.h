#pragma once

#include <span>
#include <string_view>

namespace millrace::server::observe {

enum class MetricKind { kCounter, kGauge, kHistogram };

// One metric of the Prometheus text format. docs/observability.md lists the same metrics; a test compares.
struct MetricInfo {
  std::string_view name;
  MetricKind kind = MetricKind::kCounter;
  std::string_view labels;          // names, separated by ','; empty = none
  std::span<const double> buckets;  // upper bounds; histograms only
  std::string_view help;
};

// All metrics, without the aliases of metric_aliases.h.
std::span<const MetricInfo> all_metrics() noexcept;

}  // namespace millrace::server::observe
