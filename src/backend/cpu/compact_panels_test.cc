// Compact panels give the bits of fast ones, in less memory.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/pack.h"
#include "backend/cpu/packed_linear.h"
#include "quant/grid_form.h"

namespace millrace::backend::cpu {
namespace {

constexpr std::int64_t kCompactRows = 50, kCompactColumns = 768, kCompactExperts = 3;

// Rows of random blocks whose values are finite.
std::vector<std::byte> finite_blocks(const quant::QuantFormat& format, std::int64_t rows) {
  std::vector<std::byte> stored(format.row_bytes(kCompactColumns) * static_cast<std::size_t>(rows));
  std::mt19937 random(11);
  std::vector<float> values(static_cast<std::size_t>(format.block_values));
  const auto is_small = [](float v) { return std::fabs(v) < 1.0f; };
  for (std::size_t at = 0; at < stored.size(); at += static_cast<std::size_t>(format.block_bytes)) {
    do {
      std::generate_n(stored.data() + at, format.block_bytes, [&] { return static_cast<std::byte>(random()); });
      format.unpack(stored.data() + at, values);
    } while (!std::all_of(values.begin(), values.end(), is_small));
  }
  return stored;
}

WeightSource compact_source(const quant::QuantFormat& format, const std::vector<std::byte>& stored) {
  return {.name = "w",
          .format = &format,
          .rows = kCompactRows,
          .cols = kCompactColumns,
          .read =
              [&](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
                const std::size_t row = format.row_bytes(kCompactColumns);
                std::memcpy(out.data(), stored.data() + static_cast<std::size_t>(first) * row,
                            static_cast<std::size_t>(count) * row);
              },
          .experts = kCompactExperts};
}

// Products of every expert's matrix with so many rows, and all rows of the weight unpacked.
std::vector<float> compact_results(Isa isa, IqPanels panels, const quant::QuantFormat& format,
                                   const std::vector<std::byte>& stored, std::int64_t rows) {
  CpuBackend backend(1, isa, {}, panels);
  const auto made = backend.make_linear({compact_source(format, stored)}, MatmulPrecision::kAuto);
  const PackedLinear& weight = packed(made.get());
  const KernelSet kernels = select_kernels(isa);
  std::vector<float> x(static_cast<std::size_t>(rows * kCompactColumns)), out;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (float& value : x) value = normal(random);
  std::vector<std::byte> memory(ActivationRows(weight.activation_form(), rows, nullptr).bytes() + 64);
  ActivationRows inputs(weight.activation_form(), rows,
                        memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64));
  for (std::int64_t r = 0; r < rows; ++r) inputs.store_row(kernels, r, x.data() + r * kCompactColumns);
  for (std::int64_t e = 0; e < kCompactExperts; ++e) {
    std::vector<float> of_expert(static_cast<std::size_t>(rows * kCompactRows));
    weight.multiply(0, weight.panels(), {inputs, nullptr, false, of_expert.data(), kCompactRows, e});
    out.insert(out.end(), of_expert.begin(), of_expert.end());
  }
  for (std::int64_t r = 0; r < kCompactExperts * kCompactRows; ++r) {
    std::vector<float> row(kCompactColumns);
    weight.unpack_row(r, row.data());
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

TEST(CompactPanels, GiveTheBitsOfFastOnes) {
  for (const quant::QuantFormat& format : quant::all_formats()) {
    if (quant::find_grid(format) == nullptr) continue;
    const std::vector<std::byte> stored = finite_blocks(format, kCompactExperts * kCompactRows);
    for (int isa = 0; isa <= static_cast<int>(detect_isa()); ++isa) {
      if (!has_isa(static_cast<Isa>(isa))) continue;
      for (const std::int64_t rows : {1, 3, 16, 65}) {
        const auto fast = compact_results(static_cast<Isa>(isa), IqPanels::kFast, format, stored, rows);
        const auto compact = compact_results(static_cast<Isa>(isa), IqPanels::kCompact, format, stored, rows);
        ASSERT_EQ(fast.size(), compact.size());
        EXPECT_EQ(std::memcmp(fast.data(), compact.data(), fast.size() * sizeof(float)), 0)
            << format.name << " on " << to_string(static_cast<Isa>(isa)) << ", " << rows << " rows";
      }
    }
  }
}

TEST(CompactPanels, TakeTheBytesOfTheFile) {
  const CpuBackend fast(1, Isa::kScalar), compact(1, Isa::kScalar, {}, IqPanels::kCompact);
  for (const quant::QuantFormat& format : quant::all_formats()) {
    const std::int64_t rows = 64, cols = 512;
    const auto bytes = [&](const CpuBackend& backend, MatmulPrecision precision) {
      return backend.packed_bytes(format, rows, cols, precision);
    };
    if (quant::find_grid(format) == nullptr) {
      EXPECT_EQ(bytes(compact, MatmulPrecision::kAuto), bytes(fast, MatmulPrecision::kAuto)) << format.name;
      continue;
    }
    EXPECT_EQ(bytes(compact, MatmulPrecision::kAuto), format.row_bytes(cols) * rows) << format.name;
    EXPECT_LT(1.2 * static_cast<double>(bytes(compact, MatmulPrecision::kAuto)),
              static_cast<double>(bytes(fast, MatmulPrecision::kAuto)))
        << format.name << ": such panels are of little use";
    EXPECT_EQ(bytes(compact, MatmulPrecision::kF32), bytes(fast, MatmulPrecision::kF32)) << format.name;
  }
}

}  // namespace
}  // namespace millrace::backend::cpu
