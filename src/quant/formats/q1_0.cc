#include "quant/grid_block.h"

namespace millrace::quant::formats {
namespace {

// value = d, or -d where the bit is 0: f16 d, 16 bytes of bits.
constexpr int kValues = 128, kBytes = 18;

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  for (int i = 0; i < kValues / 8; ++i) {
    const std::uint64_t word = spread_bits<0>(std::to_integer<std::uint8_t>(block[2 + i]));
    std::memcpy(out.codes + 8 * i, &word, sizeof word);
  }
}

// d is the mean magnitude: the best one for the signs.
void pack_block(std::span<const float> x, std::byte* block) noexcept {
  float sum = 0.0f;
  std::fill_n(block, kBytes, std::byte{0});
  for (int i = 0; i < kValues; ++i) {
    sum += std::fabs(x[i]);
    if (x[i] >= 0.0f) block[2 + i / 8] |= static_cast<std::byte>(1 << (i % 8));
  }
  store_half(block, sum / kValues);
}

constexpr AffineForm kForm = {.code_bits = 1, .zero = 1, .decompose = decompose};

}  // namespace

QuantFormat q1_0() {
  QuantFormat format = read_only_format<kForm, kValues, kBytes>("q1_0", 41);
  format.pack = pack_blocks<pack_block, kValues, kBytes>;
  format.max_relative_error = 0.9f;
  return format;
}

}  // namespace millrace::quant::formats
