#include "quant/grid_block.h"

namespace millrace::quant::formats {
namespace {

// value = d * (s - 32) * kLevels[q], the levels of iq4_nl: f16 d, two high bits of eight 6-bit s, their low nibbles,
// and 16 bytes of nibbles for each 32 values.
constexpr std::array<std::int8_t, 16> kLevels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                 1,    13,   25,  38,  53,  69,  89,  113};
constexpr int kHighAt = 2, kLowAt = 4, kCodesAt = 8, kBytes = 136;

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  const int high = load_bits(block + kHighAt);
  for (int i = 0; i < 8; ++i) {
    const int low = std::to_integer<int>(block[kLowAt + i / 2]) >> (i % 2 * 4) & 15;
    out.sub_scales[i] = static_cast<std::int8_t>((low | (high >> (2 * i) & 3) << 4) - 32);
  }
  load_nibble_pairs<16>(block + kCodesAt, out.codes);
}

constexpr AffineForm kForm = {.code_bits = 4,
                              .scales = AffineForm::Scales::kProduct,
                              .zero = 128,
                              .levels = kLevels.data(),
                              .decompose = decompose};

}  // namespace

QuantFormat iq4_xs() { return read_only_format<kForm, kSuperBlock, kBytes>("iq4_xs", 23); }

}  // namespace millrace::quant::formats
