#include "loadtest/report/row_plot.h"

#include <algorithm>
#include <cmath>

#include "loadtest/report/svg_canvas.h"

namespace millrace::loadtest::report {
namespace {

using Anchor = SvgCanvas::Anchor;

constexpr double kRow = 30, kMargin = 16;

double widest(const std::vector<RowPlot::Row>& rows, const std::string RowPlot::Row::* text) {
  std::size_t letters = 0;
  for (const RowPlot::Row& row : rows) letters = std::max(letters, (row.*text).size());
  return kPlotLetter * static_cast<double>(letters);
}

Axis axis_of(const RowPlot& plot) {
  std::vector<double> values = {plot.reference};
  for (const RowPlot::Row& row : plot.rows) values.insert(values.end(), {row.value, row.low, row.high});
  if (plot.bars || plot.scale == Axis::Scale::kLog) return axis_for(values, plot.scale);
  // Dots need no zero: their differences count. An axis over the distances from the lowest has its round ends.
  values.erase(std::remove_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); }), values.end());
  if (values.empty()) return axis_for(values, plot.scale);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double room = std::max(0.08 * (*high - *low), 1e-3 * std::max(std::fabs(*high), std::fabs(*low)));
  return {plot.scale, *low - room, *high + room};
}

}  // namespace

std::string svg_of(const RowPlot& plot) {
  const double left = kMargin + std::min(260.0, widest(plot.rows, &RowPlot::Row::label)) + 12;
  const double right = kPlotWidth - kMargin - std::min(200.0, widest(plot.rows, &RowPlot::Row::note)) - 12;
  const double bottom = kPlotTop + kRow * static_cast<double>(plot.rows.size());
  const Axis axis = axis_of(plot);
  const auto at = [&](double value) { return left + axis.place(value) * (right - left); };

  SvgCanvas canvas(kPlotWidth, bottom + kPlotBottom, plot.title);
  for (const Tick& tick : ticks_of(axis, 7)) {
    canvas.line(at(tick.value), kPlotTop, at(tick.value), bottom, "grid");
    canvas.text(at(tick.value), bottom + 18, tick.label, Anchor::kMiddle, "tick");
  }
  canvas.line(left, bottom, right, bottom, "axis");
  canvas.text((left + right) / 2, bottom + 40, plot.x_label, Anchor::kMiddle);
  if (std::isfinite(plot.reference)) canvas.line(at(plot.reference), kPlotTop, at(plot.reference), bottom, "mark");

  double y = kPlotTop + kRow / 2;
  for (const RowPlot::Row& row : plot.rows) {
    const std::string colour = series_class(row.series);
    canvas.text(left - 12, y + 4, row.label, Anchor::kEnd);
    if (plot.bars) canvas.rectangle(left, y - 9, std::max(0.0, at(row.value) - left), 18, colour + " bar");
    if (std::isfinite(row.low) && std::isfinite(row.high) && row.high > row.low) {
      canvas.line(at(row.low), y, at(row.high), y, plot.bars ? "error" : colour + " whisker");
    }
    if (!plot.bars) canvas.circle(at(row.value), y, 5, colour + (row.hollow ? " hollow" : " dot"));
    canvas.text(right + 12, y + 4, row.note, Anchor::kStart, "note");
    y += kRow;
  }
  return std::move(canvas).str();
}

}  // namespace millrace::loadtest::report
