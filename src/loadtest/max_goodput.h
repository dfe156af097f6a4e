#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "loadtest/confidence.h"

namespace millrace::loadtest {

// Parameters of the search for the highest rate that a server sustains.
struct GoodputSearch {
  double first = 1.0;                   // the first rate to try, > 0
  double lowest = 1e-3, highest = 1e6;  // limits of the rates to try
  double wanted = 0.9;                  // share of requests that must be good, (0, 1]
  double width = 0.05;                  // relative width to which the border is to be known
  int max_runs = 24;                    // limit of runs
};

// The result of a run at one rate: requests within the SLO, and all.
struct GoodShare {
  std::int64_t good = 0, all = 0;
};

struct MaxGoodput {
  struct Tried {  // in the order of the runs
    double rate = 0.0;
    Estimate share;
    bool met = false;  // whether this run alone had the wanted share
  };
  // The highest rate that was found to suffice. Its interval reaches from the highest rate up to which all runs
  // together surely suffice (lower end of Wilson's interval) to the lowest rate above it that surely does not. Nothing:
  // not even the lowest rate suffices.
  std::optional<Estimate> rate;
  // The border was found to `width`; false: the runs were used up, or it is outside the limits.
  bool settled = false;
  std::vector<Tried> tried;
};

// Doubles (or halves) the rate until one suffices and one does not, then bisects between them (geometric mean). A
// single run must not decide: the rate that bounds the search and both sides of the border are run again, and a third
// time if two runs disagree (the median of a rate's runs counts); a rate above the border must fail too. If that moves
// the border, the search continues from there. Calls `run` at most `max_runs` times.
MaxGoodput find_max_goodput(const GoodputSearch& search, const std::function<GoodShare(double rate)>& run);

}  // namespace millrace::loadtest
