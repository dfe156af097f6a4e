#pragma once

#include <cstdint>
#include <vector>

#include "loadtest/load_run.h"

namespace millrace::loadtest {

// The gaps between successive events of streams, counted in a grid over the time of the run and the length of the gap.
struct ItlHeat {
  std::vector<double> t;                          // edges of the columns, s; one more than there are columns
  std::vector<double> ms;                         // edges of the rows, logarithmic; one more than there are rows
  std::vector<std::vector<std::int64_t>> counts;  // rows of columns
};

// Counts the gaps of the good requests that count, at the time of their later event. At most 120 columns (fewer for few
// gaps), and 30 rows from the shortest gap, or a hundred-thousandth of the longest, to the longest. Empty without gaps.
ItlHeat itl_heat(const LoadRun& run);

}  // namespace millrace::loadtest
