#include "bench/kernel_timing.h"

#include <algorithm>
#include <cmath>

#include "base/env.h"

namespace millrace::bench {
namespace {

// Long against reading the clock, short against a scheduler's time slice.
constexpr double kPassSeconds = 1e-3;

double seconds_of(const KernelCase& kernel_case, std::int64_t calls) {
  const TimePoint start = Clock::now();
  for (std::int64_t i = 0; i < calls; ++i) kernel_case.run();
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(calls);
}

// Seconds of a call in each pass.
std::vector<double> time_passes(const KernelCase& kernel_case, double seconds) {
  kernel_case.run();  // wakes the threads and grows scratch memory
  const double once = std::max(seconds_of(kernel_case, 1), 1e-8);
  const auto calls = static_cast<std::int64_t>(std::clamp(std::ceil(kPassSeconds / once), 1.0, 1e6));
  std::vector<double> passes;
  const TimePoint start = Clock::now();
  do {
    passes.push_back(seconds_of(kernel_case, calls));
  } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds || passes.size() < 3);
  return passes;
}

}  // namespace

KernelMetrics time_case(const KernelCase& kernel_case, backend::MachineProbe& probe, const TimingOptions& options) {
  std::vector<double> microseconds, gb_s, gop_s, read_share, peak_share;
  KernelMetrics metrics;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    std::vector<double> passes;
    const backend::cpu::MachineLimits limits =
        probe.around([&] { passes = time_passes(kernel_case, options.min_seconds / options.repeats); });
    const double peak = kernel_case.arithmetic ? backend::peak_gop_s(limits, *kernel_case.arithmetic) : 0.0;
    const auto share_of = [&](double seconds, double amount, double limit) {
      return limit > 0.0 ? amount / seconds * 1e-9 / limit : 0.0;
    };
    const double read = kernel_case.from_memory ? limits.read_gb_s : 0.0;
    const metrics::Spread seconds = metrics::spread_of(passes);
    microseconds.push_back(seconds.median * 1e6);
    gb_s.push_back(kernel_case.bytes / seconds.median * 1e-9);
    gop_s.push_back(kernel_case.operations / seconds.median * 1e-9);
    read_share.push_back(share_of(seconds.median, kernel_case.bytes, read));
    peak_share.push_back(share_of(seconds.median, kernel_case.operations, peak));
    metrics.best_share = std::max({metrics.best_share, share_of(seconds.min, kernel_case.bytes, read),
                                   share_of(seconds.min, kernel_case.operations, peak)});
  }
  metrics.microseconds = metrics::spread_of(microseconds);
  metrics.gb_s = metrics::spread_of(gb_s);
  metrics.gop_s = metrics::spread_of(gop_s);
  metrics.read_share = metrics::spread_of(read_share);
  metrics.peak_share = metrics::spread_of(peak_share);
  return metrics;
}

}  // namespace millrace::bench
