#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "loadtest/report/axis_ticks.h"

namespace millrace::loadtest::report {

// Metrics in rows: a forest plot (dots with whiskers) or bars.
struct RowPlot {
  struct Row {
    std::string label, note;  // text at the left, and at the right edge
    double value = 0.0, low = kNoValue, high = kNoValue;
    std::size_t series = 0;  // number of its colour
    bool hollow = false;     // draws a hollow dot, for an undecided result
  };
  std::string title, x_label;
  Axis::Scale scale = Axis::Scale::kLinear;
  bool bars = false;
  double reference = kNoValue;  // x of a dashed vertical line, for example 1 for ratios
  std::vector<Row> rows;
};
std::string svg_of(const RowPlot& plot);

}  // namespace millrace::loadtest::report
