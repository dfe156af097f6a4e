#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "loadtest/confidence.h"

namespace millrace::loadtest {

// Where to look for the highest rate that a server bears.
struct GoodputSearch {
  double first = 1.0;                   // the rate to begin with, > 0
  double lowest = 1e-3, highest = 1e6;  // never outside
  double wanted = 0.9;                  // share of the requests that must be good, (0, 1)
  double width = 0.05;                  // stop where the border is known to this relative width
  int max_runs = 24;                    // or after so many
};

// What one run at a rate came to: requests within the objective, and all.
struct GoodShare {
  std::int64_t good = 0, all = 0;
};

struct MaxGoodput {
  struct Tried {  // in the order of the runs
    double rate = 0.0;
    Estimate share;
    bool met = false;  // by this run alone
  };
  // The highest rate that was found to do. Its interval: from the highest rate at and below which all runs together
  // surely do (Wilson's lower end) to the lowest above it that surely does not. None: not even the lowest tried.
  std::optional<Estimate> rate;
  bool settled = false;  // the border was found to `width`; otherwise the runs were used up, or it lies outside
  std::vector<Tried> tried;
};

// Doubles (or halves) the rate until one does and one does not, then bisects between them (geometric mean). One run
// that had bad or good luck must not decide: the rate that bounds the search and both sides of the border are run
// again, a third time where two runs disagree (the median of a rate's runs counts), and a rate above the border must
// fail too. Where that moves the border, the search goes on from there: it is always the highest rate that does. Calls
// `run` at most `max_runs` times.
MaxGoodput find_max_goodput(const GoodputSearch& search, const std::function<GoodShare(double rate)>& run);

}  // namespace millrace::loadtest
