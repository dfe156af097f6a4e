#pragma once

#include <cstdint>
#include <vector>

#include "loadtest/load_run.h"

namespace millrace::loadtest {

// When which gaps between two events of a stream came: a grid over the time of the run.
struct ItlHeat {
  std::vector<double> t;                          // edges of the columns, s; one more than there are columns
  std::vector<double> ms;                         // edges of the rows, logarithmic; one more than there are rows
  std::vector<std::vector<std::int64_t>> counts;  // rows of columns
};

// Gaps of the good requests that count, at the moment of their later event. At most 120 columns (fewer where there are
// few gaps), 30 rows from the shortest gap, or a hundred-thousandth of the longest, to the longest. Empty without gaps.
ItlHeat itl_heat(const LoadRun& run);

}  // namespace millrace::loadtest
