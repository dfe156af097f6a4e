// Scales of one exponent byte in the int8 kernels: every byte, the denormal and the largest ones too.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "backend/cpu/testing/reference.h"
#include "backend/testing/test_backend.h"

namespace millrace::backend {
namespace {

constexpr std::int64_t kExponents = 256, kInputsOfRow = 32;

// Row e has the exponent byte e; all have the same codes.
WeightSource all_exponents(const quant::QuantFormat& format) {
  std::vector<std::byte> block(static_cast<std::size_t>(format.block_bytes)), rows;
  std::mt19937 random(3);
  std::ranges::generate(block, [&] { return static_cast<std::byte>(random()); });
  for (std::int64_t e = 0; e < kExponents; ++e) {
    block[0] = static_cast<std::byte>(e);
    rows.insert(rows.end(), block.begin(), block.end());
  }
  WeightSource source{.name = "w", .format = &format, .rows = kExponents, .cols = kInputsOfRow, .read = {}};
  source.read = [rows = std::move(rows), n = block.size()](std::int64_t first, std::int64_t, std::span<std::byte> out) {
    std::memcpy(out.data(), rows.data() + static_cast<std::size_t>(first) * n, out.size());
  };
  return source;
}

// Whole numbers whose scale is 1, so that products with integer levels are exact.
std::vector<float> whole_numbers(std::int64_t rows) {
  std::vector<float> x(static_cast<std::size_t>(rows * kInputsOfRow));
  std::mt19937 random(4);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = i % kInputsOfRow == 0 ? 127.0f : static_cast<float>(static_cast<int>(random() % 255) - 127);
  }
  return x;
}

TEST(E8m0Scales, AreExactForEveryByte) {
  constexpr std::int64_t kRows = 21, kOne = 128;  // 2^(128 - 128)
  const std::vector<float> x = whole_numbers(kRows);
  for (const cpu::KernelSet* set : cpu::supported_sets()) {
    const auto backend = make_test_backend(2, std::string(to_string(set->isa)));
    const auto weight = backend->make_linear({all_exponents(*quant::find_format("mxfp4"))}, MatmulPrecision::kAuto);
    const DeviceVector input = backend->make_vector(x);
    const DeviceBuffer memory = backend->allocate(sizeof(float) * kRows * kExponents).or_throw();
    backend->linear(*weight, {}, DeviceView(input.address(), DType::kF32, {kRows, kInputsOfRow}),
                    memory.view(kRows, kExponents));
    backend->synchronize();
    std::vector<float> out(kRows * kExponents);
    backend->download(memory.address(), std::as_writable_bytes(std::span(out)));
    for (std::int64_t r = 0; r < kRows; ++r) {
      const double whole = out[static_cast<std::size_t>(r * kExponents + kOne)];
      EXPECT_EQ(whole, std::rint(whole));
      for (int e = 0; e < kExponents; ++e) {
        EXPECT_EQ(out[static_cast<std::size_t>(r * kExponents + e)], static_cast<float>(std::ldexp(whole, e - 128)))
            << to_string(set->isa) << " row " << r << " exponent " << e;
      }
    }
  }
}

}  // namespace
}  // namespace millrace::backend
