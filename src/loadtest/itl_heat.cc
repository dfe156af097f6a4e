#include "loadtest/itl_heat.h"

#include <algorithm>
#include <cmath>

#include "loadtest/run_metrics.h"

namespace millrace::loadtest {
namespace {

constexpr std::size_t kRows = 30, kMaxColumns = 120, kGapsAColumn = 20;
constexpr double kWidestRange = 1e5, kShortestMs = 1e-3;

struct Gap {
  double t, ms;
};

std::vector<Gap> gaps_of(const LoadRun& run) {
  std::vector<Gap> gaps;
  for (const RequestRecord& record : run.records) {
    if (!counts(record) || !record.good()) continue;
    for (std::size_t i = 1; i < record.events.size(); ++i) {
      gaps.push_back({record.events[i], (record.events[i] - record.events[i - 1]) * 1000});
    }
  }
  return gaps;
}

// Where a value is among `cells` equal parts of [0, 1]; what is outside is in the first or last.
std::size_t cell(double share, std::size_t cells) {
  const auto n = static_cast<double>(cells);
  return static_cast<std::size_t>(std::clamp(share * n, 0.0, n - 1));
}

}  // namespace

ItlHeat itl_heat(const LoadRun& run) {
  const std::vector<Gap> gaps = gaps_of(run);
  if (gaps.empty()) return {};
  const auto [first, last] = std::minmax_element(gaps.begin(), gaps.end(), [](auto& a, auto& b) { return a.t < b.t; });
  const auto [short_gap, long_gap] =
      std::minmax_element(gaps.begin(), gaps.end(), [](auto& a, auto& b) { return a.ms < b.ms; });
  const double begin = first->t, seconds = std::max(last->t - begin, 1e-9);
  const double high = std::max(long_gap->ms, 2 * kShortestMs);
  const double low = std::clamp(short_gap->ms, std::max(kShortestMs, high / kWidestRange), high / 2);
  const std::size_t columns = std::clamp(gaps.size() / kGapsAColumn, std::size_t{1}, kMaxColumns);

  ItlHeat heat;
  for (std::size_t c = 0; c <= columns; ++c) {
    heat.t.push_back(begin + seconds * static_cast<double>(c) / static_cast<double>(columns));
  }
  for (std::size_t r = 0; r <= kRows; ++r) {
    heat.ms.push_back(low * std::pow(high / low, static_cast<double>(r) / static_cast<double>(kRows)));
  }
  heat.counts.assign(kRows, std::vector<std::int64_t>(columns));
  for (const Gap& gap : gaps) {
    const double height = std::log(std::max(gap.ms, low) / low) / std::log(high / low);
    ++heat.counts[cell(height, kRows)][cell((gap.t - begin) / seconds, columns)];
  }
  return heat;
}

}  // namespace millrace::loadtest
