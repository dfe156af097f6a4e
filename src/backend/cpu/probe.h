#pragma once

#include "base/cpu.h"

// Measures the machine's limits, so that speeds can be stated as shares of them.

namespace millrace::backend::cpu {

// Limits in 1e9 bytes or operations per second; a multiply and an add are two operations. 0 where the processor has no
// instruction for it, or there is no memory to measure in.
struct MachineLimits {
  double read_gb_s = 0.0;
  // Mean of all passes instead of the best one: what a shared machine provides over time.
  double read_sustained_gb_s = 0.0;
  double f32_gflop_s = 0.0;
  double int8_gop_s = 0.0;
  double bf16_gflop_s = 0.0;
};

// Measures all limits of `threads` threads with the kernels of `isa`. Each probe repeats short passes for
// `seconds_per_probe` seconds and keeps the best, so that load of other processes hardly changes the result;
// read_sustained_gb_s is the exception.
MachineLimits measure_limits(int threads, Isa isa, double seconds_per_probe);

// measure_limits() for a quiet moment of a server that may get a request: takes about `seconds` in all. A limit that
// would take longer is 0, such as reading where the system is slow to give memory for it.
MachineLimits measure_limits_within(int threads, Isa isa, double seconds);

// Measures reading alone, from a buffer of at least four times the last-level cache if a quarter of the available
// memory suffices for it. 1e9 bytes per second.
double measure_read_bandwidth(int threads, Isa isa, double seconds);

}  // namespace millrace::backend::cpu
