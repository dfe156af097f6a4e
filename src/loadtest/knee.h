#pragma once

#include <optional>
#include <span>
#include <string>

namespace millrace::loadtest {

// One point of a curve of latency against load.
struct CurvePoint {
  double x = 0.0;  // requests a second, or users
  double y = 0.0;  // median latency, > 0
};

struct Knee {
  double x = 0.0;       // the load at which the curve bends
  double before = 0.0;  // the latency there
  std::string why;      // a sentence
};

// Where latency begins to rise much faster than before. Two lines that meet are fitted to log(y) by least squares, the
// knee at every place between two points (piecewise regression, Hinkley 1971; logarithms, as queueing multiplies
// latency). Points behind the first with eight times the lowest latency are left out. None where there are fewer than
// four points, where the latency rises to less than 1.5 times the first, where the second line is less than 2.5 times
// as steep as the first, or where one line is as good as two.
std::optional<Knee> find_knee(std::span<const CurvePoint> points);

}  // namespace millrace::loadtest
