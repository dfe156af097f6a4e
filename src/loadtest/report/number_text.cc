#include "loadtest/report/number_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace millrace::loadtest::report {
namespace {

constexpr std::pair<std::string_view, const char*> kLabels[] = {
    {"request_throughput", "Requests"},       {"request_goodput", "Goodput"},
    {"output_throughput", "Output tokens"},   {"total_token_throughput", "All tokens"},
    {"mbu_percent", "Memory bandwidth used"}, {"cached_share", "Prompt from cache"},
    {"resident_peak_bytes", "Peak memory"}};
constexpr std::pair<std::string_view, const char*> kStatistics[] = {
    {"mean", "Mean"}, {"median", "Median"}, {"std", "Std"}, {"p90", "P90"}, {"p95", "P95"}, {"p99", "P99"}};
constexpr std::pair<std::string_view, const char*> kLatencies[] = {
    {"ttft_ms", "TTFT"}, {"tpot_ms", "TPOT"}, {"itl_ms", "ITL"}, {"e2el_ms", "latency"}};

template <typename Table>
const char* find(const Table& table, std::string_view name) {
  const auto found = std::find_if(std::begin(table), std::end(table), [&](const auto& e) { return e.first == name; });
  return found == std::end(table) ? nullptr : found->second;
}

}  // namespace

std::string number_text(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0.0) return "0";
  const int digits = static_cast<int>(std::floor(std::log10(std::fabs(value)))) + 1;
  if (digits > 7 || digits < -4) return fmt::format("{:.3g}", value);
  std::string out = fmt::format("{:.{}f}", value, std::clamp(4 - digits, 0, 7));
  if (out.find('.') != std::string::npos) out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

std::string number_text(const std::optional<double>& value) { return value ? number_text(*value) : "-"; }

std::string interval_text(const std::optional<Estimate>& estimate) {
  if (!estimate) return "-";
  const std::string value = number_text(estimate->value);
  if (estimate->low == estimate->high) return value;
  return fmt::format("{} [{}, {}]", value, number_text(estimate->low), number_text(estimate->high));
}

std::string metric_label(std::string_view metric) {
  if (const char* label = find(kLabels, metric)) return label;
  const std::size_t mark = metric.find('_');
  if (mark == std::string_view::npos) return std::string(metric);
  const char* statistic = find(kStatistics, metric.substr(0, mark));
  const char* latency = find(kLatencies, metric.substr(mark + 1));
  if (statistic == nullptr || latency == nullptr) return std::string(metric);
  return fmt::format("{} {}", statistic, latency);
}

}  // namespace millrace::loadtest::report
