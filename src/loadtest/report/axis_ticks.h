#pragma once

#include <limits>
#include <string>
#include <vector>

namespace millrace::loadtest::report {

// A figure that is not there.
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// The axis of a plot: what it shows and where on it a value lies.
struct Axis {
  enum class Scale { kLinear, kLog } scale = Scale::kLinear;
  double low = 0.0, high = 1.0;  // low < high; both above 0 where logarithmic

  // [0, 1] within the axis.
  double place(double value) const noexcept;
};

struct Tick {
  double value = 0.0;
  std::string label;
};

// An axis that holds the values (those above 0 alone where logarithmic), with ends on round numbers: from 0 where
// linear. Values that are no numbers are passed over; of none at all it is [0, 1] or [1, 10].
Axis axis_for(const std::vector<double>& values, Axis::Scale scale);

// At most about `most` ticks: 1, 2, 2.5 or 5 times a power of ten apart; powers of ten, with 2 and 5 where there is
// room.
std::vector<Tick> ticks_of(const Axis& axis, int most);

}  // namespace millrace::loadtest::report
