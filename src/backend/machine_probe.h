#pragma once

#include <string_view>
#include <vector>

#include "backend/cpu/probe.h"

namespace millrace::backend {

// Which of the machine's peaks bounds a product.
enum class Arithmetic { kF32, kBf16, kInt8 };
std::string_view to_string(Arithmetic arithmetic) noexcept;  // "int8"
// From what a backend::Linear says of itself: "q4_1 (avx512_vnni int8)"; of several formats, the first.
Arithmetic arithmetic_of(std::string_view linear_description) noexcept;
double peak_gop_s(const backend::cpu::MachineLimits& limits, Arithmetic arithmetic) noexcept;

// Measures the machine's limits again and again between measurements of something else, as the bandwidth of a shared
// host moves by half within seconds: each figure is then compared with the limits of its own moment.
class MachineProbe {
 public:
  MachineProbe(int threads, Isa isa, double seconds_per_limit)
      : threads_(threads), isa_(isa), seconds_(seconds_per_limit) {}

  // What the machine gives now; remembered.
  backend::cpu::MachineLimits measure();
  // Runs `work` between two measurements and returns the mean of both. The second is the next one's first.
  template <typename Work>
  backend::cpu::MachineLimits around(Work&& work) {
    if (measured_.empty()) measure();
    const backend::cpu::MachineLimits before = measured_.back();
    work();
    return mean(before, measure());
  }
  // Every measurement so far.
  const std::vector<backend::cpu::MachineLimits>& measured() const noexcept { return measured_; }

 private:
  static backend::cpu::MachineLimits mean(const backend::cpu::MachineLimits& a, const backend::cpu::MachineLimits& b);
  int threads_;
  Isa isa_;
  double seconds_;
  std::vector<backend::cpu::MachineLimits> measured_;
};

}  // namespace millrace::backend
