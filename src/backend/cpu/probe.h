#pragma once

#include "base/cpu.h"

// Measures what this machine can do, so that every figure of speed can be given as a share of it.

namespace millrace::backend::cpu {

// 1e9 a second; a multiply and an add are two operations. 0 where there is no instruction for it or no memory to
// measure in.
struct MachineLimits {
  double read_gb_s = 0.0;
  double read_sustained_gb_s = 0.0;  // not the best pass but all of them: what a shared machine's memory gives for long
  double f32_gflop_s = 0.0;
  double int8_gop_s = 0.0;
  double bf16_gflop_s = 0.0;
};

// All limits of `threads` threads with the kernels of `isa`; each probe repeats short passes for `seconds_per_probe`
// and keeps the best, so that a busy neighbour costs time and not truth (but for what says otherwise).
MachineLimits measure_limits(int threads, Isa isa, double seconds_per_probe);

// Reading alone, from a buffer of at least four times the last-level cache where a quarter of the available memory
// allows it.
double measure_read_bandwidth(int threads, Isa isa, double seconds);

}  // namespace millrace::backend::cpu
