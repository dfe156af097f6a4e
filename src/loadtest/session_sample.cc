#include "loadtest/session_sample.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "metrics/statistics.h"

namespace millrace::loadtest {

void SessionSample::add(std::size_t session, double value) {
  CHECK(session < counts_.size());
  entries_.push_back({value, static_cast<std::uint32_t>(session)});
  ++counts_[session];
}

void SessionSample::sort() {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.value < b.value; });
  for (const Entry& entry : entries_) {
    values_.push_back(entry.value);
    sessions_.push_back(entry.session);
  }
  entries_ = {};
}

double SessionSample::quantile(double q) const { return metrics::quantile_of_sorted(values_, q); }

bool SessionSample::drawn_quantiles(std::span<const int> times, std::span<const double> qs,
                                    std::span<double> out) const {
  std::int64_t all = 0;
  for (std::size_t s = 0; s < counts_.size(); ++s) all += counts_[s] * times[s];
  if (all == 0) return false;
  std::size_t at = 0;
  std::int64_t seen = times[sessions_[0]];  // values of the draw up to `at`
  const auto value_of = [&](std::int64_t rank) {
    while (seen <= rank) seen += times[sessions_[++at]];
    return values_[at];
  };
  for (std::size_t i = 0; i < qs.size(); ++i) {
    const double place = qs[i] * static_cast<double>(all - 1);
    const auto rank = static_cast<std::int64_t>(place);
    const double low = value_of(rank);
    // The walk does not turn back: the next quantile's rank is not below this one's, but may be below rank + 1.
    const std::size_t kept_at = at;
    const std::int64_t kept_seen = seen;
    const double high = value_of(std::min(rank + 1, all - 1));
    at = kept_at, seen = kept_seen;
    out[i] = std::lerp(low, high, place - static_cast<double>(rank));
  }
  return true;
}

Estimate SessionSample::woodruff(double q) const {
  const double value = quantile(q);
  const std::int64_t sessions = std::count_if(counts_.begin(), counts_.end(), [](std::int64_t n) { return n > 0; });
  if (sessions < 2) return {value, value, value};
  std::vector<std::int64_t> below(counts_.size());
  const auto end = static_cast<std::size_t>(std::upper_bound(values_.begin(), values_.end(), value) - values_.begin());
  for (std::size_t i = 0; i < end; ++i) ++below[sessions_[i]];
  const auto all = static_cast<double>(values_.size());
  const double share = static_cast<double>(end) / all;
  double squares = 0.0;
  for (std::size_t s = 0; s < counts_.size(); ++s) {
    const double more = static_cast<double>(below[s]) - share * static_cast<double>(counts_[s]);
    squares += more * more;
  }
  const auto n = static_cast<double>(sessions);
  const double half = student_t(sessions - 1) * std::sqrt(n / (n - 1) * squares) / all;
  return {value, quantile(std::max(0.0, q - half)), quantile(std::min(1.0, q + half))};
}

}  // namespace millrace::loadtest
