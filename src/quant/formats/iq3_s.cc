#include "quant/grid_block.h"
#include "quant/grids.gen.h"

namespace millrace::quant::formats {
namespace {

// value = d * (1 + 2 s) * +-grid: f16 d, the low bytes of 64 grid rows of four values, one high bit of each row, 32
// bytes of signs, and a 4-bit s for each 32 values.
constexpr std::array<std::int8_t, 16> kLevels = {1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15};
constexpr int kLowAt = 2, kHighAt = 66, kSignsAt = 74, kScalesAt = 106, kBytes = 110;

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  put_odd_scales<8>(block + kScalesAt, out.sub_scales);
  const auto row = [&](int i) {
    const int high = std::to_integer<int>(block[kHighAt + i / 8]) >> (i % 8) & 1;
    return kIq3SGrid[std::to_integer<std::size_t>(block[kLowAt + i]) | static_cast<std::size_t>(high) << 8];
  };
  for (int i = 0; i < 32; ++i) {
    put_triples(row(2 * i), row(2 * i + 1), std::to_integer<std::uint8_t>(block[kSignsAt + i]), out.codes + i * 8);
  }
}

constexpr AffineForm kForm = {.code_bits = 4,
                              .scales = AffineForm::Scales::kProduct,
                              .zero = 16,
                              .levels = kLevels.data(),
                              .decompose = decompose};

}  // namespace

QuantFormat iq3_s() { return read_only_format<kForm, kSuperBlock, kBytes>("iq3_s", 21); }

}  // namespace millrace::quant::formats
