// What counts as an output that int8 activations move.

#include <gtest/gtest.h>

#include <cstring>

#include "backend/cpu/testing/reference.h"
#include "backend/testing/test_backend.h"
#include "quant/format.h"

namespace millrace::backend {
namespace {

constexpr std::int64_t kNarrowOutputs = 64, kWideInputs = 1024, kFewTokens = 8;

// The part of outputs that are moved when one value of each row is so many times as large as the others.
double moved_part(const char* format, float outlier) {
  const auto backend = make_test_backend(2, "");
  const quant::QuantFormat& kind = *quant::find_format(format);
  std::vector<float> values = cpu::normal_values(static_cast<std::size_t>(kNarrowOutputs * kWideInputs), 1);
  std::vector<std::byte> bytes(static_cast<std::size_t>(kNarrowOutputs) * kind.row_bytes(kWideInputs));
  for (std::size_t r = 0; r < kNarrowOutputs; ++r) {
    values[r * kWideInputs] = 0.0f;  // the large value coarsens the others, and no more
    kind.pack(std::span(values).subspan(r * kWideInputs, kWideInputs), bytes.data() + r * kind.row_bytes(kWideInputs));
  }
  WeightSource source{.name = "w", .format = &kind, .rows = kNarrowOutputs, .cols = kWideInputs, .read = {}};
  source.read = [&](std::int64_t first, std::int64_t, std::span<std::byte> out) {
    std::memcpy(out.data(), bytes.data() + static_cast<std::size_t>(first) * kind.row_bytes(kWideInputs), out.size());
  };
  std::vector<float> x = cpu::normal_values(static_cast<std::size_t>(kFewTokens * kWideInputs), 2);
  for (std::size_t r = 0; r < kFewTokens; ++r) x[r * kWideInputs] = outlier;
  const auto weight = backend->make_linear({source}, MatmulPrecision::kAuto);
  const DeviceVector in = backend->make_vector(x);
  const DeviceBuffer out =
      backend->allocate(static_cast<std::size_t>(kFewTokens * kNarrowOutputs) * sizeof(float)).or_throw();
  weight->start_rounding_statistics();
  backend->linear(*weight, {}, DeviceView(in.address(), DType::kF32, {kFewTokens, kWideInputs}),
                  out.view(kFewTokens, kNarrowOutputs));
  backend->synchronize();
  const std::vector<RoundingStatistics> found = weight->take_rounding_statistics();
  return static_cast<double>(found.at(0).moved) / static_cast<double>(found.at(0).outputs);
}

TEST(RoundingStatistics, OneScaleForARowMayCostMoreThanOneForAGroup) {
  EXPECT_EQ(moved_part("int8_row", 4.0f), 0.0);
  EXPECT_EQ(moved_part("int8_row", 12.0f), 0.0);  // 1/36 of an output: what W8A8 costs
  EXPECT_EQ(moved_part("int8_row", 60.0f), 1.0);  // 1/8
  EXPECT_EQ(moved_part("q8_0", 4.0f), 0.0);
  EXPECT_EQ(moved_part("q8_0", 12.0f), 0.0);  // one group of 32 of them is rounded as coarsely
}

}  // namespace
}  // namespace millrace::backend
