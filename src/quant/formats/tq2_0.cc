#include "quant/grid_block.h"
#include "quant/ternary_block.h"

namespace millrace::quant::formats {
namespace {

// value = d * (q - 1): 64 bytes of bit pairs in the order of q2_k, f16 d last.
constexpr int kScaleAt = 64, kBytes = 66;

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block + kScaleAt);
  load_bit_pairs(block, out.codes);
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  std::array<std::uint8_t, kSuperBlock> codes;
  std::fill_n(block, kScaleAt, std::byte{0});
  store_half(block + kScaleAt, ternary_codes(x, codes.data()));
  for (int i = 0; i < kSuperBlock; ++i) {
    block[two_bit_byte(i)] |= static_cast<std::byte>(codes[static_cast<std::size_t>(i)] << two_bit_shift(i));
  }
}

constexpr AffineForm kForm = {.code_bits = 2, .zero = 1, .decompose = decompose};

}  // namespace

QuantFormat tq2_0() {
  QuantFormat format = read_only_format<kForm, kSuperBlock, kBytes>("tq2_0", 35);
  format.pack = pack_blocks<pack_block, kSuperBlock, kBytes>;
  format.max_relative_error = 0.501f;
  return format;
}

}  // namespace millrace::quant::formats
