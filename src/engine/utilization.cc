#include "engine/utilization.h"

#include <algorithm>

namespace millrace::engine {

std::optional<double> giga_per_second(double work, double seconds) {
  if (!(work > 0.0) || !(seconds > 0.0)) return std::nullopt;
  return work / seconds / 1e9;
}

std::optional<double> share_of_peak(std::optional<double> giga_per_second, double peak) {
  if (!giga_per_second || !(peak > 0.0)) return std::nullopt;
  const double share = *giga_per_second / peak;
  return share > 1.0 ? std::nullopt : std::optional(share);
}

void LivePeaks::measured(const MachinePeaks& again) noexcept {
  read_gb_s_ = std::max(read_gb_s_.load(), again.read_gb_s);
  gop_s_ = std::max(gop_s_.load(), again.gop_s);
}

Utilization utilization(const TimeSpent& spent, const MachinePeaks& peaks) {
  const auto read = giga_per_second(spent.decode_read_bytes, spent.decode_steps_ms() / 1e3);
  const auto operations = giga_per_second(spent.prefill_operations, spent.prefill_steps_ms() / 1e3);
  return {.read_gb_s = read,
          .mbu = share_of_peak(read, peaks.read_gb_s),
          .prefill_mfu = share_of_peak(operations, peaks.gop_s)};
}

}  // namespace millrace::engine
