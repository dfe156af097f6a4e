#pragma once

#include <string_view>
#include <vector>

#include "backend/cpu/probe.h"

namespace millrace::backend {

// The kind of arithmetic whose peak limits a product.
enum class Arithmetic { kF32, kBf16, kInt8 };
std::string_view to_string(Arithmetic arithmetic) noexcept;  // "int8"
// The arithmetic named by Linear::description(): "q4_1 (avx512_vnni int8)". With several formats, that of the first.
Arithmetic arithmetic_of(std::string_view linear_description) noexcept;
double peak_gop_s(const backend::cpu::MachineLimits& limits, Arithmetic arithmetic) noexcept;

// Measures the machine's limits repeatedly between other measurements, since the bandwidth of a shared host changes by
// half within seconds. Each measurement can then be compared with the limits at its own time.
class MachineProbe {
 public:
  MachineProbe(int threads, Isa isa, double seconds_per_limit)
      : threads_(threads), isa_(isa), seconds_(seconds_per_limit) {}

  // Measures the limits now and records them.
  backend::cpu::MachineLimits measure();
  // Runs `work` between two measurements and returns their mean. The second one is also the first one of the next call.
  template <typename Work>
  backend::cpu::MachineLimits around(Work&& work) {
    if (measured_.empty()) measure();
    const backend::cpu::MachineLimits before = measured_.back();
    work();
    return mean(before, measure());
  }
  // All measurements so far.
  const std::vector<backend::cpu::MachineLimits>& measured() const noexcept { return measured_; }

 private:
  static backend::cpu::MachineLimits mean(const backend::cpu::MachineLimits& a, const backend::cpu::MachineLimits& b);
  int threads_;
  Isa isa_;
  double seconds_;
  std::vector<backend::cpu::MachineLimits> measured_;
};

}  // namespace millrace::backend
