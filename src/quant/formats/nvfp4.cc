#include "quant/grid_block.h"

namespace millrace::quant::formats {
namespace {

// NVFP4: value = scale / 2 * kLevels[q]: for each 16 values a byte, unsigned e4m3, then for each 16 values 8 bytes of
// nibbles, the low ones first. The levels are e2m1 numbers doubled. What a tensor `<name>.scale` has beside it is a
// factor of the whole matrix (StoredWeight::factors).
constexpr std::array<std::int8_t, 16> kLevels = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
constexpr int kValues = 64, kCodesAt = 4, kBytes = 36;

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  for (int s = 0; s < 4; ++s) {
    // The standard's NaN is 0 in GGUF, without the sign bit only.
    const auto bits = std::to_integer<int>(block[s]);
    out.sub_scales[s] = static_cast<std::int8_t>(bits == 0x7f ? 0 : bits & 0x7f);
    for (int i = 0; i < 8; ++i) {
      const auto both = std::to_integer<std::uint8_t>(block[kCodesAt + s * 8 + i]);
      out.codes[s * 16 + i] = both & 15;
      out.codes[s * 16 + 8 + i] = static_cast<std::uint8_t>(both >> 4);
    }
  }
}

constexpr AffineForm kForm = {.code_bits = 4,
                              .scales = AffineForm::Scales::kE4m3,
                              .scale_group = 16,
                              .zero = 16,
                              .levels = kLevels.data(),
                              .decompose = decompose};

}  // namespace

QuantFormat nvfp4() { return read_only_format<kForm, kValues, kBytes>("nvfp4", 40); }

}  // namespace millrace::quant::formats
