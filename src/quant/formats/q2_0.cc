#include "quant/grid_block.h"
#include "quant/ternary_block.h"

namespace millrace::quant::formats {
namespace {

// value = d * (q - 1): f16 d, 16 bytes of four bit pairs each, in order.
constexpr int kValues = 64, kBytes = 18;

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  for (int i = 0; i < kValues; ++i) {
    out.codes[i] = static_cast<std::uint8_t>(std::to_integer<int>(block[2 + i / 4]) >> (i % 4 * 2) & 3);
  }
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  std::array<std::uint8_t, kValues> codes;
  std::fill_n(block, kBytes, std::byte{0});
  store_half(block, ternary_codes(x, codes.data()));
  for (int i = 0; i < kValues; ++i) {
    block[2 + i / 4] |= static_cast<std::byte>(codes[static_cast<std::size_t>(i)] << (i % 4 * 2));
  }
}

constexpr AffineForm kForm = {.code_bits = 2, .zero = 1, .decompose = decompose};

}  // namespace

QuantFormat q2_0() {
  QuantFormat format = read_only_format<kForm, kValues, kBytes>("q2_0", 42);
  format.pack = pack_blocks<pack_block, kValues, kBytes>;
  format.max_relative_error = 0.501f;
  return format;
}

}  // namespace millrace::quant::formats
