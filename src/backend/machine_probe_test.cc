#include "backend/machine_probe.h"

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/packed_linear.h"
#include "quant/group_format.h"

namespace millrace::backend {
namespace {

TEST(Arithmetic, IsWhatTheKernelOfEachFormatAndInstructionSetMultipliesWith) {
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512Vnni, Isa::kAvx512Bf16}) {
    if (isa > detect_isa()) continue;
    const auto cpu = backend::cpu::make_cpu_backend({.threads = 1, .isa = std::string(to_string(isa))}).or_throw();
    std::vector<const quant::QuantFormat*> formats = {quant::find_any_format("e4m3_g128")};
    for (const quant::QuantFormat& format : quant::all_formats()) formats.push_back(&format);
    for (const quant::QuantFormat* format : formats) {
      backend::WeightSource source{.name = "w", .format = format, .rows = 16, .cols = 256, .read = {}};
      source.read = [](std::int64_t, std::int64_t, std::span<std::byte> out) {
        std::fill(out.begin(), out.end(), std::byte{0});
      };
      const auto linear = cpu->make_linear({source}, backend::MatmulPrecision::kAuto);
      const auto* packed = dynamic_cast<const backend::cpu::PackedLinear*>(linear.get());
      ASSERT_NE(packed, nullptr);
      const Arithmetic expected = packed->activation_form().wants_int8() ? Arithmetic::kInt8
                                  : packed->activation_form().wants(backend::cpu::ActivationType::kBf16)
                                      ? Arithmetic::kBf16
                                      : Arithmetic::kF32;
      EXPECT_EQ(arithmetic_of(linear->description()), expected) << linear->description();
    }
  }
}

TEST(Arithmetic, OfATextThatNamesNoKernelIsF32) {
  for (const char* text : {"", "bf16", "int8", "q4_0 (", ")(", "q4_0 ()", "f32 (avx512_bf16)"}) {
    EXPECT_EQ(arithmetic_of(text), Arithmetic::kF32) << text;
  }
}

TEST(MachineProbe, MeasuresBeforeAndAfterAndReusesTheLastOne) {
  MachineProbe probe(1, Isa::kScalar, 1e-4);
  int runs = 0;
  const auto first = probe.around([&] { ++runs; });
  EXPECT_EQ(probe.measured().size(), 2u);
  EXPECT_GT(first.read_gb_s, 0.0);
  EXPECT_DOUBLE_EQ(first.f32_gflop_s, (probe.measured()[0].f32_gflop_s + probe.measured()[1].f32_gflop_s) / 2);
  probe.around([&] { ++runs; });
  EXPECT_EQ(probe.measured().size(), 3u);
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace millrace::backend
