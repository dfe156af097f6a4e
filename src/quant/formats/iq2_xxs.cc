#include "quant/grid_block.h"
#include "quant/grids.gen.h"

namespace millrace::quant::formats {
namespace {

// value = d * (0.5 + s) / 4 * +-grid: f16 d, then for each 32 values four indices of grid rows and a word of four times
// seven signs and, in its top four bits, s.
constexpr int kBytes = 66;

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  const std::byte* at = block + 2;
  for (int group = 0; group < 8; ++group, at += 8) {
    const std::uint32_t word = load_word(at + 4);
    out.sub_scales[group] = static_cast<std::int8_t>(2 * (word >> 28) + 1);
    for (int i = 0; i < 4; ++i) {
      put_pairs(kIq2XxsGrid[std::to_integer<std::size_t>(at[i])], even_signs(word >> (7 * i)),
                out.codes + group * 32 + i * 8);
    }
  }
}

constexpr AffineForm kForm = {.code_bits = 3,
                              .scales = AffineForm::Scales::kProduct,
                              .zero = 64,
                              .scale_exponent = -3,
                              .levels = kIq2Levels.data(),
                              .decompose = decompose};

}  // namespace

QuantFormat iq2_xxs() { return read_only_format<kForm, kSuperBlock, kBytes>("iq2_xxs", 16); }

}  // namespace millrace::quant::formats
