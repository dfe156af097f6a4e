#pragma once

#include <string>
#include <vector>

#include "loadtest/report/axis_ticks.h"

namespace millrace::loadtest::report {

// One line of a plot. Points without a y interrupt it.
struct PlotLine {
  struct Point {
    double x = 0.0, y = 0.0;
    double low = kNoValue, high = kNoValue;  // of its interval
  };
  std::string label;  // in the legend; "" = not there
  std::vector<Point> points;
  bool markers = false;
};

// A place on the x axis that is worth a dashed line.
struct PlotMark {
  double x = 0.0;
  std::string text;
};

struct LinePlot {
  std::string title, x_label, y_label;
  Axis::Scale x_scale = Axis::Scale::kLinear, y_scale = Axis::Scale::kLinear;
  std::vector<PlotLine> lines;
  std::vector<PlotMark> marks;
};

// Lines with bands of their intervals, 720 pixels wide and 400 high, and higher with a legend. Axes hold all points and
// intervals; what cannot lie on a logarithmic axis is left out.
std::string svg_of(const LinePlot& plot);

// The share of values up to each: steps thinned to about 400 places.
PlotLine ecdf_line(std::string label, std::vector<double> values);

}  // namespace millrace::loadtest::report
