#include "quant/grid_block.h"
#include "quant/ternary_block.h"

namespace millrace::quant::formats {
namespace {

// value = d * (t - 1): bytes of five digits t in {0, 1, 2} each, the last four bytes of four; f16 d last. Digit n of a
// byte is the integer part of three times the fraction (byte * 3^n mod 256) / 256. Of 32 bytes in a row the first
// digits are the first 32 values, then come the second digits, and so on; then those of 16 and of 4 bytes.
constexpr int kScaleAt = 52, kBytes = 54;

struct DigitRun {
  int bytes, digits, first_byte, first_value;
};
constexpr std::array<DigitRun, 3> kRuns = {{{32, 5, 0, 0}, {16, 5, 32, 160}, {4, 4, 48, 240}}};

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block + kScaleAt);
  for (const DigitRun& run : kRuns) {
    for (int i = 0; i < run.bytes; ++i) {
      auto fraction = std::to_integer<unsigned>(block[run.first_byte + i]);
      for (int n = 0; n < run.digits; ++n, fraction = fraction * 3 & 255) {
        out.codes[run.first_value + n * run.bytes + i] = static_cast<std::uint8_t>(fraction * 3 >> 8);
      }
    }
  }
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  std::array<std::uint8_t, kSuperBlock> codes;
  store_half(block + kScaleAt, ternary_codes(x, codes.data()));
  for (const DigitRun& run : kRuns) {
    for (int i = 0; i < run.bytes; ++i) {
      unsigned number = 0;
      for (int n = 0; n < 5; ++n) {
        number = number * 3 + (n < run.digits ? codes[run.first_value + n * run.bytes + i] : 0u);
      }
      block[run.first_byte + i] = static_cast<std::byte>((number * 256 + 242) / 243);  // the fraction, rounded up
    }
  }
}

constexpr AffineForm kForm = {.code_bits = 2, .zero = 1, .decompose = decompose};

}  // namespace

QuantFormat tq1_0() {
  QuantFormat format = read_only_format<kForm, kSuperBlock, kBytes>("tq1_0", 34);
  format.pack = pack_blocks<pack_block, kSuperBlock, kBytes>;
  format.max_relative_error = 0.501f;
  return format;
}

}  // namespace millrace::quant::formats
