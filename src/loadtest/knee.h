#pragma once

#include <optional>
#include <span>
#include <string>

namespace millrace::loadtest {

// One point of a curve of latency over load.
struct CurvePoint {
  double x = 0.0;  // requests per second, or users
  double y = 0.0;  // median latency, > 0
};

struct Knee {
  double x = 0.0;       // the load at which the curve bends
  double before = 0.0;  // the latency there
  std::string why;      // the reason, as a sentence
};

// The load from which on latency rises much faster than before. Fits two connected lines to log(y) by least squares,
// with the knee at every place between two points (piecewise regression, Hinkley 1971; logarithms since queueing
// multiplies latency). Points after the first with eight times the lowest latency are left out. Nothing if there are
// fewer than four points, if the latency rises to less than 1.5 times the first, if the second line is less than 2.5
// times as steep as the first, or if one line fits as well as two.
std::optional<Knee> find_knee(std::span<const CurvePoint> points);

}  // namespace millrace::loadtest
