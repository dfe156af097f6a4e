#pragma once

#include <string>
#include <vector>

#include "loadtest/report/axis_ticks.h"

namespace millrace::loadtest::report {

// One line of a plot. A point without y interrupts it.
struct PlotLine {
  struct Point {
    double x = 0.0, y = 0.0;
    double low = kNoValue, high = kNoValue;  // of the point's interval
  };
  std::string label;  // in the legend; "" = not there
  std::vector<Point> points;
  bool markers = false;
};

// A dashed vertical line on the plot.
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

// Draws lines with bands of their intervals, 720 pixels wide and 400 high, and higher with a legend. Axes contain all
// points and intervals; values that a logarithmic axis cannot show are left out.
std::string svg_of(const LinePlot& plot);

// The cumulative distribution of the values, thinned to about 400 steps.
PlotLine ecdf_line(std::string label, std::vector<double> values);

}  // namespace millrace::loadtest::report
