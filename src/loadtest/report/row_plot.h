#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "loadtest/report/axis_ticks.h"

namespace millrace::loadtest::report {

// RunMetrics one under the other: a forest plot (dots with whiskers) or bars.
struct RowPlot {
  struct Row {
    std::string label, note;  // left of it and, on the right edge, in words
    double value = 0.0, low = kNoValue, high = kNoValue;
    std::size_t series = 0;  // colour
    bool hollow = false;     // a dot that says nothing sure
  };
  std::string title, x_label;
  Axis::Scale scale = Axis::Scale::kLinear;
  bool bars = false;
  double reference = kNoValue;  // a dashed upright line, as at 1 for ratios
  std::vector<Row> rows;
};
std::string svg_of(const RowPlot& plot);

}  // namespace millrace::loadtest::report
