#pragma once

#include <span>
#include <string_view>

namespace millrace::server::observe {

enum class MetricKind { kCounter, kGauge, kHistogram };

// One metric as the text format shows it. docs/observability.md lists the same metrics, which a test checks.
struct MetricInfo {
  std::string_view name;
  MetricKind kind = MetricKind::kCounter;
  std::string_view labels;          // names, separated by ','; empty: none
  std::span<const double> buckets;  // ascending upper bounds; only of a histogram
  std::string_view help;
};

// All metrics, without the names of metric_aliases.h.
std::span<const MetricInfo> all_metrics() noexcept;

}  // namespace millrace::server::observe
