#include "loadtest/report/line_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "loadtest/report/svg_canvas.h"

namespace millrace::loadtest::report {
namespace {

using Anchor = SvgCanvas::Anchor;

constexpr double kHeight = 400;
constexpr double kLeft = 64, kRight = 20, kLegendRow = 20;
constexpr std::size_t kEcdfPoints = 400;

// The rectangle that the data lies in.
struct Frame {
  Axis x, y;
  double top;
  double right = kPlotWidth - kRight, bottom = top + kHeight - kPlotTop - kPlotBottom;

  double at_x(double value) const { return kLeft + x.place(value) * (right - kLeft); }
  double at_y(double value) const { return bottom - y.place(value) * (bottom - top); }
  bool holds(const PlotLine::Point& point) const {
    const auto fits = [](const Axis& axis, double value) {
      return std::isfinite(value) && (axis.scale == Axis::Scale::kLinear || value > 0.0);
    };
    return fits(x, point.x) && fits(y, point.y);
  }
};

Frame frame_of(const LinePlot& plot, double top) {
  std::vector<double> xs, ys;
  for (const PlotLine& line : plot.lines) {
    for (const PlotLine::Point& point : line.points) {
      xs.push_back(point.x);
      ys.insert(ys.end(), {point.y, point.low, point.high});
    }
  }
  for (const PlotMark& mark : plot.marks) xs.push_back(mark.x);
  return {axis_for(xs, plot.x_scale), axis_for(ys, plot.y_scale), top};
}

void draw_axes(const LinePlot& plot, const Frame& frame, SvgCanvas& canvas) {
  for (const Tick& tick : ticks_of(frame.y, 6)) {
    const double y = frame.at_y(tick.value);
    canvas.line(kLeft, y, frame.right, y, "grid");
    canvas.text(kLeft - 8, y + 4, tick.label, Anchor::kEnd, "tick");
  }
  for (const Tick& tick : ticks_of(frame.x, 9)) {
    const double x = frame.at_x(tick.value);
    canvas.line(x, frame.bottom, x, frame.bottom + 5, "axis");
    canvas.text(x, frame.bottom + 18, tick.label, Anchor::kMiddle, "tick");
  }
  canvas.line(kLeft, frame.bottom, frame.right, frame.bottom, "axis");
  canvas.text((kLeft + frame.right) / 2, frame.bottom + kPlotBottom - 12, plot.x_label, Anchor::kMiddle);
  canvas.upright_text(18, (frame.top + frame.bottom) / 2, plot.y_label);
}

// The runs of points that nothing interrupts, each with its band beneath.
void draw_line(const PlotLine& line, std::size_t series, const Frame& frame, SvgCanvas& canvas) {
  const std::string colour = series_class(series);
  std::vector<std::pair<double, double>> run, upper, lower;
  const auto end_run = [&] {
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    if (upper.size() > 3) canvas.path(upper, colour + " band", true);
    canvas.path(run, colour + " line");
    run.clear(), upper.clear(), lower.clear();
  };
  for (const PlotLine::Point& point : line.points) {
    if (!frame.holds(point)) {
      end_run();
      continue;
    }
    const double x = frame.at_x(point.x);
    run.emplace_back(x, frame.at_y(point.y));
    upper.emplace_back(x, frame.at_y(std::isfinite(point.high) ? point.high : point.y));
    lower.emplace_back(x, frame.at_y(std::isfinite(point.low) ? point.low : point.y));
  }
  end_run();
  for (const PlotLine::Point& point : line.points) {
    if (!line.markers || !frame.holds(point)) continue;
    canvas.circle(frame.at_x(point.x), frame.at_y(point.y), 4, colour + " dot",
                  fmt::format("{}: {:.4g} at {:.4g}", line.label, point.y, point.x));
  }
}

struct LegendEntry {
  std::size_t series;
  double x, y;
};

// Where each label goes: as many a row as there is room.
std::vector<LegendEntry> legend_of(const LinePlot& plot) {
  std::vector<LegendEntry> entries;
  double x = kLeft, y = kPlotTop;
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    if (plot.lines[i].label.empty()) continue;
    const double width = 44 + kPlotLetter * static_cast<double>(plot.lines[i].label.size());
    if (x > kLeft && x + width > kPlotWidth) x = kLeft, y += kLegendRow;
    entries.push_back({i, x, y});
    x += width;
  }
  return entries;
}

}  // namespace

std::string svg_of(const LinePlot& plot) {
  const std::vector<LegendEntry> legend = legend_of(plot);
  const Frame frame = frame_of(plot, legend.empty() ? kPlotTop : legend.back().y + kLegendRow);
  SvgCanvas canvas(kPlotWidth, frame.bottom + kPlotBottom, plot.title);
  draw_axes(plot, frame, canvas);
  for (const PlotMark& mark : plot.marks) {
    const double x = frame.at_x(mark.x);
    canvas.line(x, frame.top, x, frame.bottom, "mark");
    const bool left = x > (kLeft + frame.right) / 2;
    canvas.text(left ? x - 6 : x + 6, frame.top + 12, mark.text, left ? Anchor::kEnd : Anchor::kStart, "note");
  }
  for (std::size_t i = 0; i < plot.lines.size(); ++i) draw_line(plot.lines[i], i, frame, canvas);
  for (const LegendEntry& entry : legend) {
    canvas.line(entry.x, entry.y, entry.x + 18, entry.y, series_class(entry.series) + " line");
    canvas.text(entry.x + 24, entry.y + 4, plot.lines[entry.series].label, Anchor::kStart);
  }
  return std::move(canvas).str();
}

PlotLine ecdf_line(std::string label, std::vector<double> values) {
  PlotLine line{.label = std::move(label)};
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double before = 0.0;
  for (std::size_t k = 1; k <= std::min(kEcdfPoints, values.size()); ++k) {
    const std::size_t rank = values.size() * k / std::min(kEcdfPoints, values.size());
    const double share = static_cast<double>(rank) / n;
    line.points.push_back({values[rank - 1], before});
    line.points.push_back({values[rank - 1], share});
    before = share;
  }
  return line;
}

}  // namespace millrace::loadtest::report
