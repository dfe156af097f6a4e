// Formats of 128 values that share a scale beside those of 32 with the same scale four times: the same bits in fewer
// bytes.

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "backend/cpu/testing/reference.h"
#include "backend/testing/test_backend.h"
#include "quant/group_format.h"

namespace millrace::backend {
namespace {

constexpr std::int64_t kRows = 40, kGroupInputs = 384;
constexpr std::size_t kSmallBlocks = 4;  // in one of 128 values

struct Pair {
  const char *large, *small;
  std::size_t head;      // bytes in front of the codes
  std::uint8_t flipped;  // bits of a byte of codes that the two keep differently
};
constexpr Pair kPairs[] = {
    {"int4_g128", "q4_0", 2, 0},       {"int4_g128z", "int4_g32z", 3, 0}, {"int8_g128", "q8_0", 2, 0x80},
    {"int8_g128z", "int8_g32z", 3, 0}, {"int4_g128m", "int4_g32m", 4, 0}, {"int3_g128z", "int3_g32z", 3, 0},
    {"int5_g128m", "int5_g32m", 4, 0}, {"int6_g128", "int6_g32", 2, 0},   {"int2_g128z", "int2_g32z", 3, 0}};

WeightSource source_of(const char* format, std::vector<std::byte> bytes) {
  const quant::QuantFormat* kind = quant::find_any_format(format);
  WeightSource source{.name = format, .format = kind, .rows = kRows, .cols = kGroupInputs, .read = {}};
  source.read = [bytes = std::move(bytes), row_bytes = kind->row_bytes(kGroupInputs)](std::int64_t first, std::int64_t,
                                                                                      std::span<std::byte> out) {
    std::memcpy(out.data(), bytes.data() + static_cast<std::size_t>(first) * row_bytes, out.size());
  };
  return source;
}

// Random blocks in the larger format, and what they are in the smaller one.
std::pair<WeightSource, WeightSource> same_weight(const Pair& pair) {
  const std::size_t head = pair.head;
  const auto large = static_cast<std::size_t>(quant::find_any_format(pair.large)->block_bytes);
  const auto small = static_cast<std::size_t>(quant::find_any_format(pair.small)->block_bytes);
  std::mt19937 random(5);
  std::uniform_real_distribution<float> scales(0.001f, 0.01f);
  std::vector<std::byte> bytes, repeated;
  for (std::int64_t b = 0; b < kRows * kGroupInputs / 128; ++b) {
    std::vector<std::byte> block(large), part(small);
    for (std::byte& byte : block) byte = static_cast<std::byte>(random());
    const std::uint16_t scale = f32_to_f16(scales(random));
    std::memcpy(block.data(), &scale, sizeof scale);
    if (head == 4) std::memcpy(block.data() + sizeof scale, &scale, sizeof scale);
    bytes.insert(bytes.end(), block.begin(), block.end());
    for (std::size_t i = 0; i < kSmallBlocks; ++i) {
      std::memcpy(part.data(), block.data(), head);
      for (std::size_t at = head; at < small; ++at) {
        part[at] = block[at + i * (small - head)] ^ static_cast<std::byte>(pair.flipped);
      }
      repeated.insert(repeated.end(), part.begin(), part.end());
    }
  }
  return {source_of(pair.large, std::move(bytes)), source_of(pair.small, std::move(repeated))};
}

std::vector<float> product(Backend& backend, const Linear& weight, std::int64_t rows) {
  const DeviceVector x = backend.make_vector(cpu::normal_values(static_cast<std::size_t>(rows * kGroupInputs), 4));
  const DeviceBuffer memory = backend.allocate(static_cast<std::size_t>(rows * kRows) * sizeof(float)).or_throw();
  backend.linear(weight, {}, DeviceView(x.address(), DType::kF32, {rows, kGroupInputs}), memory.view(rows, kRows));
  backend.synchronize();
  std::vector<float> out(static_cast<std::size_t>(rows * kRows));
  backend.download(memory.address(), std::as_writable_bytes(std::span(out)));
  return out;
}

TEST(GroupBlocks, HaveTheBitsOfScalesRepeatedInFewerBytes) {
  for (const cpu::KernelSet* set : cpu::supported_sets()) {
    const auto backend = make_test_backend(2, std::string(to_string(set->isa)));
    for (const Pair& pair : kPairs) {
      const auto [large, small] = same_weight(pair);
      for (const auto precision : {MatmulPrecision::kAuto, MatmulPrecision::kInt8x2, MatmulPrecision::kF32}) {
        const auto of_large = backend->make_linear({large}, precision);
        const auto of_small = backend->make_linear({small}, precision);
        EXPECT_LT(of_large->packed_bytes(), of_small->packed_bytes());
        for (const std::int64_t rows : {1, 5, 70}) {
          EXPECT_TRUE(cpu::same_bits(product(*backend, *of_large, rows), product(*backend, *of_small, rows)))
              << pair.large << " " << to_string(set->isa) << " " << rows << " rows, precision "
              << static_cast<int>(precision);
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace::backend
