#include "loadtest/report/axis_ticks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace millrace::loadtest::report {
namespace {

// The smallest round step that needs no more than `most` of it.
double round_step(double range, int most) {
  const double rough = range / most;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// "1.5k" where numbers get long.
std::string label_of(double value) {
  const double size = std::fabs(value);
  if (size == 0.0) return "0";  // also where rounding left a minus
  if (size >= 1e9) return fmt::format("{:.4g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

}  // namespace

double Axis::place(double value) const noexcept {
  const double share =
      scale == Scale::kLog ? std::log(std::max(value, low) / low) / std::log(high / low) : (value - low) / (high - low);
  return std::clamp(share, 0.0, 1.0);
}

Axis axis_for(const std::vector<double>& values, Axis::Scale scale) {
  const bool log = scale == Axis::Scale::kLog;
  double low = INFINITY, high = -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value) || (log && value <= 0.0)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {scale, log ? 1.0 : 0.0, log ? 10.0 : 1.0};
  if (log) {
    // To the next of 1, 2, 5.
    const auto round = [](double value, bool up) {
      const double power = std::pow(10.0, std::floor(std::log10(value)));
      const double steps[] = {1.0, 2.0, 5.0, 10.0};
      if (up) return power * *std::find_if(steps, steps + 3, [&](double s) { return s * power >= value * (1 - 1e-9); });
      return power * (value >= 5 * power * (1 - 1e-9) ? 5.0 : value >= 2 * power * (1 - 1e-9) ? 2.0 : 1.0);
    };
    Axis axis{scale, round(low, false), round(high, true)};
    if (axis.high <= axis.low) axis.high = 2 * axis.low;
    return axis;
  }
  low = std::min(low, 0.0);
  if (high <= low) high = low + 1.0;
  const double step = round_step(high - low, 12);
  return {scale, step * std::floor(low / step + 1e-9), step * std::ceil(high / step - 1e-9)};
}

std::vector<Tick> ticks_of(const Axis& axis, int most) {
  std::vector<Tick> ticks;
  if (axis.scale == Axis::Scale::kLinear) {
    const double step = round_step(axis.high - axis.low, most);
    for (double at = std::ceil(axis.low / step - 1e-9); at * step <= axis.high + 1e-9 * step; ++at) {
      ticks.push_back({at * step, label_of(at * step)});
    }
    return ticks;
  }
  const double decades = std::log10(axis.high / axis.low);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / most)));
  const bool between = 3 * decades <= most;
  for (int power = static_cast<int>(std::floor(std::log10(axis.low) + 1e-9)); power <= 308; ++power) {
    if (std::pow(10.0, power) > axis.high * (1 + 1e-9)) break;
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, power);
      const bool shown = factor == 1.0 ? power % every == 0 : between;
      if (shown && value >= axis.low * (1 - 1e-9) && value <= axis.high * (1 + 1e-9))
        ticks.push_back({value, label_of(value)});
    }
  }
  return ticks;
}

}  // namespace millrace::loadtest::report
