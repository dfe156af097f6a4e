#include "quant/grid_block.h"
#include "quant/grids.gen.h"

namespace millrace::quant::formats {
namespace {

// value = d * (0.5 + s) / 4 * +-grid: f16 d, for each 8 values a word of 9 bits of grid row and 7 of signs, and a 4-bit
// s for each 16 values.
constexpr int kCodesAt = 2, kScalesAt = 66, kBytes = 74;

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  put_odd_scales<16>(block + kScalesAt, out.sub_scales);
  for (int i = 0; i < 32; ++i) {
    const std::uint16_t word = load_bits(block + kCodesAt + 2 * i);
    put_pairs(kIq2XsGrid[word & 511u], even_signs(word >> 9), out.codes + i * 8);
  }
}

constexpr AffineForm kForm = {.code_bits = 3,
                              .scales = AffineForm::Scales::kProduct,
                              .scale_group = 16,
                              .zero = 64,
                              .scale_exponent = -3,
                              .levels = kIq2Levels.data(),
                              .decompose = decompose};

}  // namespace

QuantFormat iq2_xs() { return read_only_format<kForm, kSuperBlock, kBytes>("iq2_xs", 17); }

}  // namespace millrace::quant::formats
