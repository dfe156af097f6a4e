#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::loadtest::report {

// Sizes of all plots in pixels: width, margins above and below, and the width of a letter.
inline constexpr double kPlotWidth = 720, kPlotTop = 48, kPlotBottom = 52, kPlotLetter = 6.6;

// A self-contained drawing in SVG 1.1. Elements have classes instead of colours; an embedded style sheet defines
// colours for light and dark pages (prefers-color-scheme). Coordinates are pixels from the upper left corner; texts are
// escaped.
class SvgCanvas {
 public:
  SvgCanvas(double width, double height, std::string_view title);

  enum class Anchor { kStart, kMiddle, kEnd };
  // `style` is a list of classes: "axis", "grid", "s3 line" (series 0 to 7: see svg_canvas.cc).
  void line(double x1, double y1, double x2, double y2, std::string_view style);
  void path(const std::vector<std::pair<double, double>>& points, std::string_view style, bool closed = false);
  void rectangle(double x, double y, double width, double height, std::string_view style);
  void circle(double x, double y, double radius, std::string_view style, std::string_view tooltip = {});
  void text(double x, double y, std::string_view text, Anchor anchor, std::string_view style = "label");
  void upright_text(double x, double y, std::string_view text);  // rotated to the left around its middle

  std::string str() &&;

 private:
  std::string text_;
};

// "s0" to "s7"; further series start again at "s0".
std::string series_class(std::size_t series);

}  // namespace millrace::loadtest::report
