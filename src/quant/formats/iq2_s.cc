#include "quant/grid_block.h"
#include "quant/grids.gen.h"

namespace millrace::quant::formats {
namespace {

// value = d * (0.5 + s) / 4 * +-grid: f16 d, the low bytes of 32 grid rows, 32 bytes of signs, two high bits of each
// row, and a 4-bit s for each 16 values.
constexpr int kLowAt = 2, kSignsAt = 34, kHighAt = 66, kScalesAt = 74, kBytes = 82;

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  put_odd_scales<16>(block + kScalesAt, out.sub_scales);
  for (int i = 0; i < 32; ++i) {
    const int high = std::to_integer<int>(block[kHighAt + i / 4]) >> (i % 4 * 2) & 3;
    const auto row = std::to_integer<std::size_t>(block[kLowAt + i]) | static_cast<std::size_t>(high) << 8;
    put_pairs(kIq2SGrid[row], std::to_integer<std::uint8_t>(block[kSignsAt + i]), out.codes + i * 8);
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

QuantFormat iq2_s() { return read_only_format<kForm, kSuperBlock, kBytes>("iq2_s", 22); }

}  // namespace millrace::quant::formats
