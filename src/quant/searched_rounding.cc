#include "quant/searched_rounding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "quant/group_format.h"
#include "quant/rounding_fit.h"
#include "quant/searched_super_block.h"

namespace millrace::quant {
namespace {

constexpr std::size_t kLargestBlock = 256;
constexpr std::size_t kBlockBytes = 512;  // room for a block of any format that is searched
using Codes = std::array<float, kLargestBlock>;

double weighted_error(const QuantFormat& format, const WeightedValues& block, const std::byte* packed) {
  std::array<float, kLargestBlock> values;
  format.unpack(packed, std::span(values).first(block.x.size()));
  double sum = 0.0;
  for (std::size_t i = 0; i < block.x.size(); ++i) {
    const double apart = static_cast<double>(values[i]) - block.x[i];
    sum += block.weights[i] * apart * apart;
  }
  return sum;
}

// The block as the format's own rule rounds it, or as the search did, whichever is nearer.
void keep_better(const QuantFormat& format, const WeightedValues& block, const std::byte* searched, std::byte* out) {
  format.pack(block.x, out);
  if (weighted_error(format, block, searched) < weighted_error(format, block, out)) {
    std::memcpy(out, searched, static_cast<std::size_t>(format.block_bytes));
  }
}

Codes32 codes_from(const Codes& codes, int zero) noexcept {
  Codes32 out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::uint8_t>(codes[i] + static_cast<float>(zero));
  }
  return out;
}

// q4_0, q5_0: scale * (code - middle).
template <int kBits>
void search_symmetric(const QuantFormat& format, const WeightedValues& block, std::byte* out) {
  constexpr int kMiddle = 1 << (kBits - 1);
  std::byte searched[kBlockBytes];
  Codes codes;
  const float scale = as_half(fit_scale(block, -kMiddle, kMiddle - 1));
  round_line(block, {scale, 0.0f}, -kMiddle, kMiddle - 1, codes.data());
  const Codes32 stored = codes_from(codes, kMiddle);
  store_half(searched, scale);
  if (kBits == 5) store_fifth_bits(searched + 2, stored);
  store_nibbles(searched + (kBits == 5 ? 6 : 2), stored);
  keep_better(format, block, searched, out);
}

// q4_1, q5_1: scale * code + minimum.
template <int kBits>
void search_affine_block(const QuantFormat& format, const WeightedValues& block, std::byte* out) {
  constexpr int kTop = (1 << kBits) - 1;
  std::byte searched[kBlockBytes];
  Codes codes;
  LineFit line = fit_line(block, kTop, Offsets::kAny);
  line = {as_half(line.scale), as_half(line.offset)};
  round_line(block, line, 0, kTop, codes.data());
  const Codes32 stored = codes_from(codes, 0);
  store_half(searched, line.scale);
  store_half(searched + 2, line.offset);
  if (kBits == 5) store_fifth_bits(searched + 4, stored);
  store_nibbles(searched + (kBits == 5 ? 8 : 4), stored);
  keep_better(format, block, searched, out);
}

// mxfp4: the exponent of the standard's rule and its neighbours, with which the largest values are cut off or spread.
void search_mxfp4(const QuantFormat& format, const WeightedValues& block, std::byte* out) {
  std::array<std::int8_t, 16> levels;
  std::copy_n(format.affine.levels, levels.size(), levels.begin());
  format.pack(block.x, out);
  const int exponent = std::to_integer<int>(out[0]);
  double best = weighted_error(format, block, out);
  for (int other = std::max(0, exponent - 1); other <= std::min(254, exponent + 1); ++other) {
    std::byte searched[kBlockBytes];
    const float step = half_e8m0_to_f32(static_cast<std::uint8_t>(other));
    Codes32 codes;
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = nearest_level(levels, block.x[i] / step);
    searched[0] = static_cast<std::byte>(other);
    store_nibbles(searched + 1, codes);
    const double error = weighted_error(format, block, searched);
    if (!(error < best)) continue;
    best = error;
    std::memcpy(out, searched, static_cast<std::size_t>(format.block_bytes));
  }
}

void search_q4_k(const QuantFormat&, const WeightedValues& block, std::byte* out) {
  store_q4_k(search_affine(block, 16), out);
}
void search_q5_k(const QuantFormat&, const WeightedValues& block, std::byte* out) {
  store_q5_k(search_affine(block, 32), out);
}
void search_q6_k(const QuantFormat&, const WeightedValues& block, std::byte* out) {
  store_q6_k(search_signed(block), out);
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

void search_levels(const QuantFormat& format, const WeightedValues& block, std::byte* out) {
  const GroupSpec& spec = *group_spec(format);
  const auto levels = group_levels(spec.codes);
  const GroupHeader header{.scale = number_of(spec.number, fit_levels(block, levels))};
  const float scale = stored_number(spec.number, header.scale), inverse = scale == 0.0f ? 0.0f : 1.0f / scale;
  std::array<std::uint8_t, kLargestBlock> codes;
  for (std::size_t i = 0; i < block.x.size(); ++i) codes[i] = nearest_of(levels, block.x[i] * inverse);
  std::byte searched[kBlockBytes];
  store_group(spec, header, codes.data(), searched);
  keep_better(format, block, searched, out);
}

// Integers: symmetric ones by fit_scale(), the others by fit_line(), whose minimum becomes a zero point where there is
// one.
void search_integers(const QuantFormat& format, const WeightedValues& block, std::byte* out) {
  const GroupSpec& spec = *group_spec(format);
  const int top = (1 << spec.bits) - 1, middle = (top + 1) / 2;
  GroupHeader header;
  LineFit line;
  int zero = 0;  // the code of 0
  if (spec.offset == GroupOffset::kNone) {
    line.scale = fit_scale(block, -middle, top - middle);
    zero = middle;
  } else {
    line = fit_line(block, top, spec.offset == GroupOffset::kZeroPoint ? Offsets::kNotPositive : Offsets::kAny);
  }
  header.scale = number_of(spec.number, line.scale);
  line.scale = stored_number(spec.number, header.scale);
  if (spec.offset == GroupOffset::kMinimum) {
    header.minimum = number_of(spec.number, line.offset);
    line.offset = stored_number(spec.number, header.minimum);
  }
  if (spec.offset == GroupOffset::kZeroPoint) {
    zero = round_to_step(-line.offset, line.scale, 0, top);
    header.zero_point = static_cast<std::uint8_t>(zero);
    line.offset = 0.0f;
  }
  Codes codes;
  round_line(block, line, -zero, top - zero, codes.data());
  std::array<std::uint8_t, kLargestBlock> stored;
  for (std::size_t i = 0; i < block.x.size(); ++i) {
    stored[i] = static_cast<std::uint8_t>(codes[i] + static_cast<float>(zero));
  }
  std::byte searched[kBlockBytes];
  store_group(spec, header, stored.data(), searched);
  keep_better(format, block, searched, out);
}

using Search = void (*)(const QuantFormat&, const WeightedValues&, std::byte*);
constexpr struct {
  std::string_view name;
  Search search;
} kSearches[] = {
    {"q4_0", search_symmetric<4>},
    {"q5_0", search_symmetric<5>},
    {"q4_1", search_affine_block<4>},
    {"q5_1", search_affine_block<5>},
    {"q4_k", search_q4_k},
    {"q5_k", search_q5_k},
    {"q6_k", search_q6_k},
    {"mxfp4", search_mxfp4},
};

// Null: it is packed by its own rule.
Search search_of(const QuantFormat& format) noexcept {
  if (const GroupSpec* spec = group_spec(format)) {
    if (spec->bits == 8) return nullptr;
    return spec->codes == GroupCodes::kInteger ? search_integers : search_levels;
  }
  for (const auto& [name, search] : kSearches) {
    if (name == format.name) return search;
  }
  return nullptr;
}

// The importance of a block's values relative to the largest, so that no sum of squares overflows or vanishes.
void weigh(std::span<const float> importance, std::span<float> weights) noexcept {
  const float largest = importance.empty() ? 0.0f : std::ranges::max(importance);
  if (largest > 0.0f) {
    std::ranges::transform(importance, weights.begin(), [&](float one) { return one / largest; });
  } else {
    std::ranges::fill(weights, 1.0f);
  }
}

}  // namespace

void pack_searched(const QuantFormat& format, std::span<const float> in, std::span<const float> importance,
                   std::byte* blocks) {
  const Search search = search_of(format);
  if (search == nullptr) return format.pack(in, blocks);
  const auto values = static_cast<std::size_t>(format.block_values);
  std::array<float, kLargestBlock> weights;
  for (std::size_t at = 0; at < in.size(); at += values, blocks += format.block_bytes) {
    weigh(importance.empty() ? importance : importance.subspan(at, values), std::span(weights).first(values));
    search(format, {in.subspan(at, values), std::span(weights).first(values)}, blocks);
  }
}

}  // namespace millrace::quant
