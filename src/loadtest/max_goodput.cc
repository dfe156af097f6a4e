#include "loadtest/max_goodput.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "metrics/statistics.h"

namespace millrace::loadtest {
namespace {

constexpr double kStep = 2.0, kAbove = 1.41;

double share_of(const GoodShare& run) {
  return run.all > 0 ? static_cast<double>(run.good) / static_cast<double>(run.all) : 0.0;
}

// The runs at one rate.
struct Place {
  double rate = 0.0;
  std::vector<GoodShare> runs;

  double median() const {
    std::vector<double> shares;
    for (const GoodShare& run : runs) shares.push_back(share_of(run));
    return metrics::quantile(shares, 0.5);
  }
  Estimate together() const {
    GoodShare sum;
    for (const GoodShare& run : runs) sum = {sum.good + run.good, sum.all + run.all};
    return wilson(sum.good, sum.all);
  }
  // Two runs that agree, or three.
  bool believed(double wanted) const {
    const auto met =
        std::count_if(runs.begin(), runs.end(), [&](const GoodShare& run) { return share_of(run) >= wanted; });
    const auto all = std::ssize(runs);
    return all >= 3 || (all == 2 && (met == 0 || met == 2));
  }
};

class Search {
 public:
  explicit Search(const GoodputSearch& search) : search_(search) {}

  void add(double rate, GoodShare run) {
    const auto at = std::lower_bound(places_.begin(), places_.end(), rate,
                                     [](const Place& place, double r) { return place.rate < r; });
    const bool known = at != places_.end() && at->rate == rate;
    (known ? at : places_.insert(at, Place{rate, {}}))->runs.push_back(run);
  }

  // The rate to run next; none where the border is known, or lies outside.
  std::optional<double> next() const {
    if (places_.empty()) return std::clamp(search_.first, search_.lowest, search_.highest);
    const std::size_t met = met_places();
    if (met == 0) return outwards(places_.front(), std::max(places_.front().rate / kStep, search_.lowest));
    if (met == places_.size()) return outwards(places_.back(), std::min(places_.back().rate * kStep, search_.highest));
    const Place &low = places_[met - 1], &high = places_[met];
    const bool top = met + 1 == places_.size();
    if (top && !high.believed(search_.wanted)) return high.rate;  // or all that follows is in vain
    if (high.rate / low.rate > 1 + search_.width) return std::sqrt(low.rate * high.rate);
    for (const Place* side : {&low, &high}) {
      if (!side->believed(search_.wanted)) return side->rate;
    }
    // A server that does not at this rate does not above it either: one more rate must say so.
    if (top && high.rate < search_.highest) return std::min(high.rate * kAbove, search_.highest);
    return std::nullopt;
  }

  MaxGoodput result() const {
    MaxGoodput found;
    const std::size_t met = met_places();
    found.settled = met > 0 && met < places_.size() && !next();
    if (met == 0) return found;
    const double value = places_[met - 1].rate;
    Estimate rate{value, places_.front().rate, places_.back().rate};
    for (std::size_t i = 0; i < met; ++i) {
      if (places_[i].together().low >= search_.wanted) rate.low = places_[i].rate;
    }
    for (std::size_t i = places_.size(); i-- > met;) {
      if (places_[i].together().high < search_.wanted) rate.high = places_[i].rate;
    }
    found.rate = rate;
    return found;
  }

 private:
  // Those up to the highest rate that does: one below it that does not had bad luck.
  std::size_t met_places() const {
    std::size_t met = places_.size();
    while (met > 0 && places_[met - 1].median() < search_.wanted) --met;
    return met;
  }
  // A rate that does not is run again before lower ones are tried, one that does only at the end of what may be tried.
  std::optional<double> outwards(const Place& outermost, double rate) const {
    if (rate <= outermost.rate && !outermost.believed(search_.wanted)) return outermost.rate;
    return rate == outermost.rate ? std::nullopt : std::optional(rate);
  }

  const GoodputSearch& search_;
  std::vector<Place> places_;  // by rate
};

}  // namespace

MaxGoodput find_max_goodput(const GoodputSearch& search, const std::function<GoodShare(double rate)>& run) {
  Search state(search);
  std::vector<MaxGoodput::Tried> tried;
  while (static_cast<int>(tried.size()) < search.max_runs) {
    const std::optional<double> rate = state.next();
    if (!rate) break;
    const GoodShare share = run(*rate);
    state.add(*rate, share);
    tried.push_back({*rate, wilson(share.good, share.all), share_of(share) >= search.wanted});
  }
  MaxGoodput found = state.result();
  found.tried = std::move(tried);
  return found;
}

}  // namespace millrace::loadtest
