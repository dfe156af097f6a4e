#include "loadtest/knee.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace millrace::loadtest {
namespace {

constexpr std::size_t kFewestPoints = 4;
constexpr int kPlacesBetween = 20;
constexpr double kSteeper = 2.5;   // the slope behind over that before, at least
constexpr double kMinRise = 1.5;   // of the last latency over the first
constexpr double kOverload = 8.0;  // times the lowest latency
constexpr double kMinGain = 0.6;   // squares left by two lines over those left by one, at most

// y = at0 + slope * x + bend * max(0, x - knee), by least squares.
struct Lines {
  double at0 = 0.0, slope = 0.0, bend = 0.0, squares = 0.0;
  double at(double x, double knee) const { return at0 + slope * x + bend * std::max(0.0, x - knee); }
};

Lines fit(const std::vector<CurvePoint>& points, double knee) {
  const auto n = static_cast<double>(points.size());
  const auto behind = [&](const CurvePoint& point) { return std::max(0.0, point.x - knee); };
  double x_mean = 0.0, h_mean = 0.0, y_mean = 0.0;
  for (const CurvePoint& point : points) {
    x_mean += point.x / n;
    h_mean += behind(point) / n;
    y_mean += point.y / n;
  }
  double xx = 0.0, xh = 0.0, hh = 0.0, xy = 0.0, hy = 0.0;
  for (const CurvePoint& point : points) {
    const double x = point.x - x_mean, h = behind(point) - h_mean, y = point.y - y_mean;
    xx += x * x, xh += x * h, hh += h * h, xy += x * y, hy += h * y;
  }
  // Without a knee between the points the two lines are one.
  const double determinant = xx * hh - xh * xh;
  Lines lines;
  if (determinant > 1e-9 * xx * hh) {
    lines.slope = (xy * hh - hy * xh) / determinant;
    lines.bend = (hy * xx - xy * xh) / determinant;
  } else if (xx > 0.0) {
    lines.slope = xy / xx;
  }
  lines.at0 = y_mean - lines.slope * x_mean - lines.bend * h_mean;
  for (const CurvePoint& point : points) {
    const double off = point.y - lines.at(point.x, knee);
    lines.squares += off * off;
  }
  return lines;
}

// Behind the first point in overload latency says how long the run was, and its logarithm bends the other way.
void drop_overload(std::vector<CurvePoint>& points) {
  const auto lowest = std::min_element(points.begin(), points.end(), [](auto& a, auto& b) { return a.y < b.y; })->y;
  const auto overload = std::find_if(points.begin(), points.end(),
                                     [&](const CurvePoint& point) { return point.y > lowest + std::log(kOverload); });
  const auto kept = static_cast<std::size_t>(overload - points.begin()) + 1;
  points.resize(std::min(points.size(), std::max(kept, kFewestPoints)));
}

}  // namespace

std::optional<Knee> find_knee(std::span<const CurvePoint> points) {
  std::vector<CurvePoint> curve;
  for (const CurvePoint& point : points) {
    if (point.y > 0.0 && std::isfinite(point.y)) curve.push_back({point.x, std::log(point.y)});
  }
  if (curve.size() < kFewestPoints) return std::nullopt;
  std::sort(curve.begin(), curve.end(), [](const CurvePoint& a, const CurvePoint& b) { return a.x < b.x; });
  drop_overload(curve);

  const Lines straight = fit(curve, curve.back().x);
  Lines best = straight;
  double knee = curve.back().x;
  // Both lines need two points: the knee lies between the second and the last but one.
  for (std::size_t i = 1; i + 2 < curve.size(); ++i) {
    for (int k = 0; k <= kPlacesBetween; ++k) {
      const double x = std::lerp(curve[i].x, curve[i + 1].x, static_cast<double>(k) / kPlacesBetween);
      const Lines lines = fit(curve, x);
      const double steeper = lines.slope + lines.bend;
      if (steeper > kSteeper * std::max(0.0, lines.slope) && lines.squares < best.squares) best = lines, knee = x;
    }
  }
  const double first = std::exp(best.at(curve.front().x, knee)), last = std::exp(curve.back().y);
  if (last < kMinRise * first || best.squares > kMinGain * straight.squares) return std::nullopt;
  return Knee{.x = knee,
              .before = std::exp(best.at(knee, knee)),
              .why = fmt::format("The median is {:.3g} at {:.3g}, {:.3g} here and {:.3g} at {:.3g}.", first,
                                 curve.front().x, std::exp(best.at(knee, knee)), last, curve.back().x)};
}

}  // namespace millrace::loadtest
