#pragma once

#include <limits>
#include <string>
#include <vector>

namespace millrace::loadtest::report {

// An absent value.
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// The axis of a plot.
struct Axis {
  enum class Scale { kLinear, kLog } scale = Scale::kLinear;
  double low = 0.0, high = 1.0;  // low < high; both above 0 if logarithmic

  // The position of a value, in [0, 1] within the axis.
  double place(double value) const noexcept;
};

struct Tick {
  double value = 0.0;
  std::string label;
};

// An axis that contains the values (if logarithmic, those above 0), with ends on round numbers, and from 0 if linear.
// NaN is ignored. Without values it is [0, 1] or [1, 10].
Axis axis_for(const std::vector<double>& values, Axis::Scale scale);

// About `most` ticks at most. Linear: 1, 2, 2.5 or 5 times a power of ten apart; logarithmic: powers of ten, with 2 and
// 5 if there is space.
std::vector<Tick> ticks_of(const Axis& axis, int most);

}  // namespace millrace::loadtest::report
