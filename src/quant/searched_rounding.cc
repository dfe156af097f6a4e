#include "quant/searched_rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "quant/group_format.h"
#include "quant/k_quant.h"

namespace millrace::quant {
namespace {

double squared_error(const QuantFormat& format, std::span<const float> x, const std::byte* block) {
  float values[256];
  format.unpack(block, {values, x.size()});
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += (static_cast<double>(values[i]) - x[i]) * (static_cast<double>(values[i]) - x[i]);
  return sum;
}

// Keeps the better of two blocks.
void keep_better(const QuantFormat& format, std::span<const float> x, const std::byte* candidate, std::byte* best) {
  if (squared_error(format, x, candidate) < squared_error(format, x, best)) {
    std::memcpy(best, candidate, static_cast<std::size_t>(format.block_bytes));
  }
}

// q4_0: scale * (code - 8).
void search_q4_0(const QuantFormat& format, std::span<const float> x, std::byte* block) {
  std::byte candidate[64];
  const std::uint16_t bits = f32_to_f16(fit_symmetric(x, 16));
  const float scale = f16_to_f32(bits);
  std::memcpy(candidate, &bits, sizeof bits);
  Codes32 codes;
  for (int i = 0; i < kBlock32; ++i)
    codes[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(round_to_step(x[static_cast<std::size_t>(i)], scale, -8, 7) + 8);
  store_nibbles(candidate + sizeof bits, codes);
  keep_better(format, x, candidate, block);
}

// mxfp4: neighbours of the exponent of the standard's rule. The block's largest values are cut off or spread.
void search_mxfp4(const QuantFormat& format, std::span<const float> x, std::byte* block) {
  std::byte candidate[64], first[64];
  std::memcpy(first, block, static_cast<std::size_t>(format.block_bytes));
  const int exponent = std::to_integer<int>(first[0]);
  for (const int other : {exponent - 1, exponent + 1}) {
    if (other < 0 || other > 254) continue;
    // Rounds to the levels of that exponent: the format's own rule on values that have it.
    const float step = half_e8m0_to_f32(static_cast<std::uint8_t>(other));
    std::array<std::int8_t, 16> levels;
    std::copy_n(format.affine.levels, 16, levels.begin());
    Codes32 codes;
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = nearest_level(levels, x[i] / step);
    candidate[0] = static_cast<std::byte>(other);
    store_nibbles(candidate + 1, codes);
    keep_better(format, x, candidate, block);
  }
}

std::uint32_t number_of(DType type, float value) noexcept {
  return type == DType::kF32    ? std::bit_cast<std::uint32_t>(value)
         : type == DType::kBF16 ? f32_to_bf16(value)
                                : f32_to_f16(value);
}

std::uint8_t nearest_of(std::span<const float, 16> levels, float value) noexcept {
  std::uint8_t best = 0;
  for (std::uint8_t i = 1; i < 16; ++i) {
    if (std::fabs(value - levels[i]) < std::fabs(value - levels[best])) best = i;
  }
  return best;
}

// Levels: the scale, from 0.8 of the largest magnitude on, with which they come nearest.
void search_levels(const QuantFormat& format, const GroupSpec& spec, std::span<const float> x, std::byte* block) {
  std::vector<std::byte> candidate(static_cast<std::size_t>(format.block_bytes));
  const auto levels = group_levels(spec.codes);
  float largest = 0.0f;
  for (const float v : x) largest = std::max(largest, std::fabs(v));
  std::uint8_t codes[256];
  for (float part = 0.8f; part < 1.0f && largest > 0.0f; part += 0.04f) {
    const float scale = part * largest;
    for (std::size_t i = 0; i < x.size(); ++i) codes[i] = nearest_of(levels, x[i] / scale);
    store_group(spec, {.scale = number_of(spec.number, scale)}, codes, candidate.data());
    keep_better(format, x, candidate.data(), block);
  }
}

// Integers: symmetric ones by fit_symmetric(), minima by fit_affine().
void search_integers(const QuantFormat& format, const GroupSpec& spec, std::span<const float> x, std::byte* block) {
  std::vector<std::byte> candidate(static_cast<std::size_t>(format.block_bytes));
  const int top = (1 << spec.bits) - 1, middle = (top + 1) / 2;
  GroupHeader header;
  float minimum = 0.0f;
  if (spec.offset == GroupOffset::kNone) {
    header.scale = number_of(spec.number, fit_symmetric(x, top + 1));
  } else {
    const SubBlockFit fit = fit_affine(x, top + 1);
    header = {.scale = number_of(spec.number, fit.scale), .minimum = number_of(spec.number, -fit.minimum)};
    minimum = stored_number(spec.number, header.minimum);
  }
  const float scale = stored_number(spec.number, header.scale);
  if (spec.offset == GroupOffset::kZeroPoint) {
    header.zero_point = static_cast<std::uint8_t>(round_to_step(-minimum, scale, 0, top));
  }
  const int zero = spec.offset == GroupOffset::kNone        ? middle
                   : spec.offset == GroupOffset::kZeroPoint ? header.zero_point
                                                            : 0;
  const float shift = spec.offset == GroupOffset::kMinimum ? minimum : 0.0f;
  std::uint8_t codes[256];
  for (std::size_t i = 0; i < x.size(); ++i)
    codes[i] = static_cast<std::uint8_t>(round_to_step(x[i] - shift, scale, -zero, top - zero) + zero);
  store_group(spec, header, codes, candidate.data());
  keep_better(format, x, candidate.data(), block);
}

}  // namespace

void pack_searched(const QuantFormat& format, std::span<const float> in, std::byte* blocks) {
  format.pack(in, blocks);
  const GroupSpec* spec = group_spec(format);
  const auto values = static_cast<std::size_t>(format.block_values);
  for (std::size_t at = 0; at < in.size(); at += values, blocks += format.block_bytes) {
    const auto x = in.subspan(at, values);
    if (format.name == "q4_0") search_q4_0(format, x, blocks);
    if (format.name == "mxfp4") search_mxfp4(format, x, blocks);
    if (spec == nullptr || spec->bits == 8) continue;
    if (spec->codes == GroupCodes::kInteger) {
      search_integers(format, *spec, x, blocks);
    } else {
      search_levels(format, *spec, x, blocks);
    }
  }
}

}  // namespace millrace::quant
