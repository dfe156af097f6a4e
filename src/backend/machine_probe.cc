#include "backend/machine_probe.h"

#include <algorithm>

namespace millrace::backend {

using backend::cpu::MachineLimits;

std::string_view to_string(Arithmetic arithmetic) noexcept {
  switch (arithmetic) {
    case Arithmetic::kF32: return "f32";
    case Arithmetic::kBf16: return "bf16";
    case Arithmetic::kInt8: return "int8";
  }
  return "";
}

Arithmetic arithmetic_of(std::string_view linear_description) noexcept {
  const std::size_t open = linear_description.find('('), close = linear_description.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return Arithmetic::kF32;
  const std::string_view inside = linear_description.substr(open, close - open);
  // The first word names the instruction set, which may be called after bf16 too.
  const std::string_view kernel = inside.substr(std::min(inside.find(' '), inside.size()));
  if (kernel.find("int8") != std::string_view::npos) return Arithmetic::kInt8;
  const bool bf16 = kernel.find("bf16") != std::string_view::npos || kernel.find("float8") != std::string_view::npos;
  if (bf16) return Arithmetic::kBf16;
  return Arithmetic::kF32;
}

double peak_gop_s(const MachineLimits& limits, Arithmetic arithmetic) noexcept {
  switch (arithmetic) {
    case Arithmetic::kF32: return limits.f32_gflop_s;
    case Arithmetic::kBf16: return limits.bf16_gflop_s > 0.0 ? limits.bf16_gflop_s : limits.f32_gflop_s;
    case Arithmetic::kInt8: return limits.int8_gop_s > 0.0 ? limits.int8_gop_s : limits.f32_gflop_s;
  }
  return 0.0;
}

MachineLimits MachineProbe::measure() {
  measured_.push_back(backend::cpu::measure_limits(threads_, isa_, seconds_));
  return measured_.back();
}

MachineLimits MachineProbe::mean(const MachineLimits& a, const MachineLimits& b) {
  return {.read_gb_s = (a.read_gb_s + b.read_gb_s) / 2,
          .read_sustained_gb_s = (a.read_sustained_gb_s + b.read_sustained_gb_s) / 2,
          .f32_gflop_s = (a.f32_gflop_s + b.f32_gflop_s) / 2,
          .int8_gop_s = (a.int8_gop_s + b.int8_gop_s) / 2,
          .bf16_gflop_s = (a.bf16_gflop_s + b.bf16_gflop_s) / 2};
}

}  // namespace millrace::backend
