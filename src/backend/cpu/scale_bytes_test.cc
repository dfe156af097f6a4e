// Scales of one byte, exponents and e4m3 numbers, in the int8 kernels: every byte, the denormal and the largest ones
// too.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "backend/cpu/testing/reference.h"
#include "backend/testing/test_backend.h"

namespace millrace::backend {
namespace {

constexpr std::int64_t kScaleBytes = 256;

// Rows of one block: row s has the byte s in place of its `scales` scales. All have the same codes.
WeightSource all_scales(const quant::QuantFormat& format, std::size_t scales) {
  std::vector<std::byte> block(static_cast<std::size_t>(format.block_bytes)), rows;
  std::mt19937 random(3);
  std::ranges::generate(block, [&] { return static_cast<std::byte>(random()); });
  for (std::int64_t s = 0; s < kScaleBytes; ++s) {
    std::fill_n(block.begin(), scales, static_cast<std::byte>(s));
    rows.insert(rows.end(), block.begin(), block.end());
  }
  WeightSource source{.name = "w", .format = &format, .rows = kScaleBytes, .cols = format.block_values, .read = {}};
  source.read = [rows = std::move(rows), n = block.size()](std::int64_t first, std::int64_t, std::span<std::byte> out) {
    std::memcpy(out.data(), rows.data() + static_cast<std::size_t>(first) * n, out.size());
  };
  return source;
}

// Whole numbers whose scale is 1, so that products with integer levels are exact.
std::vector<float> whole_numbers(std::int64_t count) {
  std::vector<float> x(static_cast<std::size_t>(count));
  std::mt19937 random(4);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = i % 32 == 0 ? 127.0f : static_cast<float>(static_cast<int>(random() % 255) - 127);
  }
  return x;
}

// Products with the row of byte s must be those with the row of byte `one` times scale_of(s).
void expect_exact_scales(const quant::QuantFormat& format, std::size_t scales, std::size_t one,
                         const std::function<double(int)>& scale_of) {
  constexpr std::int64_t kInputRows = 21;
  const std::vector<float> x = whole_numbers(kInputRows * format.block_values);
  for (const cpu::KernelSet* set : cpu::supported_sets()) {
    const auto backend = make_test_backend(2, std::string(to_string(set->isa)));
    const auto weight = backend->make_linear({all_scales(format, scales)}, MatmulPrecision::kAuto);
    const DeviceVector input = backend->make_vector(x);
    const DeviceBuffer memory = backend->allocate(sizeof(float) * kInputRows * kScaleBytes).or_throw();
    backend->linear(*weight, {}, DeviceView(input.address(), DType::kF32, {kInputRows, format.block_values}),
                    memory.view(kInputRows, kScaleBytes));
    backend->synchronize();
    std::vector<float> out(kInputRows * kScaleBytes);
    backend->download(memory.address(), std::as_writable_bytes(std::span(out)));
    for (std::int64_t r = 0; r < kInputRows; ++r) {
      const float* row = out.data() + r * kScaleBytes;
      EXPECT_EQ(row[one], std::rint(row[one]));
      for (int s = 0; s < kScaleBytes; ++s) {
        EXPECT_EQ(row[s], static_cast<float>(row[one] * scale_of(s)))
            << to_string(set->isa) << " row " << r << " byte " << s;
      }
    }
  }
}

TEST(ScaleBytes, OfExponentsAreExact) {
  expect_exact_scales(*quant::find_format("mxfp4"), 1, 128, [](int s) { return std::ldexp(1.0, s - 128); });
}

TEST(ScaleBytes, OfE4m3NumbersAreExact) {
  expect_exact_scales(*quant::find_format("nvfp4"), 4, 0x40, [](int s) {
    const int exponent = s >> 3 & 15, mantissa = s & 7;
    if (s == 0x7f) return 0.0;
    return (exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10)) / 2.0;
  });
}

}  // namespace
}  // namespace millrace::backend
