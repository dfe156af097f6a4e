#include "backend/cpu/probe.h"

#include <gtest/gtest.h>

#include "backend/cpu/testing/reference.h"

namespace millrace::backend::cpu {
namespace {

TEST(Probe, MeasuresEveryLimitThatTheProcessorHas) {
  for (int isa = 0; isa <= static_cast<int>(detect_isa()); ++isa) {
    if (!has_isa(static_cast<Isa>(isa))) continue;
    const KernelSet kernels = select_kernels(static_cast<Isa>(isa));
    const MachineLimits limits = measure_limits(1, static_cast<Isa>(isa), 0.005);
    SCOPED_TRACE(to_string(static_cast<Isa>(isa)));
    RecordProperty("read_gb_s", std::to_string(limits.read_gb_s));
    // Between a machine too slow to run anything and one that no core is: a wrong unit or a loop optimised away falls
    // outside.
    EXPECT_GT(limits.read_gb_s, 0.05);
    EXPECT_LT(limits.read_gb_s, 1e3);
    EXPECT_LE(limits.read_sustained_gb_s, limits.read_gb_s);
    EXPECT_GT(limits.read_sustained_gb_s, limits.read_gb_s / 1e3);
    EXPECT_GT(limits.f32_gflop_s, 0.01);
    EXPECT_LT(limits.f32_gflop_s, 1e3);
    EXPECT_GT(limits.int8_gop_s, 0.01);
    EXPECT_LT(limits.int8_gop_s, 4e3);
    EXPECT_EQ(limits.bf16_gflop_s > 0.0, kernels.peak_bf16 != nullptr);
    EXPECT_LT(limits.bf16_gflop_s, 2e3);
  }
}

TEST(Probe, CountsTheOperationsItRuns) {
  for (const KernelSet* set : supported_sets()) {
    for (auto* peak : {set->peak_f32, set->peak_int8, set->peak_bf16}) {
      if (peak != nullptr) {
        EXPECT_EQ(peak(64), 64 * peak(1));
      }
    }
  }
}

}  // namespace
}  // namespace millrace::backend::cpu
