#include "backend/cpu/kv_codes.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/kv_key_codes.h"
#include "tensor/dtype.h"

namespace millrace::backend::cpu {
namespace {

constexpr std::uint16_t kHalfNan = 0x7e00;
constexpr std::int64_t kStrip = 64;  // dimensions of values that lie together

std::byte pair_of(std::uint8_t low, std::uint8_t high) noexcept { return static_cast<std::byte>(low | high << 4); }
std::uint8_t low_of(std::byte b) noexcept { return std::to_integer<std::uint8_t>(b & std::byte{15}); }
std::uint8_t high_of(std::byte b) noexcept { return std::to_integer<std::uint8_t>(b >> 4); }

// A try: codes as floats, and the sum of squares of what they are off by.
struct Attempt {
  float scale, minimum;  // as f16 holds them
  float codes[kKeyGroup];
  float error;
};

using Four [[gnu::vector_size(16)]] = float;

Four four(const float* x) noexcept {
  Four v;
  std::memcpy(&v, x, sizeof(v));
  return v;
}
float sum_of(const Four& v) noexcept { return (v[0] + v[1]) + (v[2] + v[3]); }

void attempt(const float* x, std::int64_t n, float levels, float scale, float minimum, Attempt& to) noexcept {
  to.scale = f16_to_f32(f32_to_f16(scale));
  to.minimum = f16_to_f32(f32_to_f16(minimum));
  const float inverse = to.scale > 0.0f ? 1.0f / to.scale : 0.0f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to integers
  const Four none = {}, most = none + levels;
  Four error = {};
  for (std::int64_t i = 0; i < n; i += 4) {
    const Four v = four(x + i);
    Four code = (v - to.minimum) * inverse;
    code = code < none ? none : code;
    code = code > most ? most : code;
    code = (code + kRound) - kRound;
    const Four off = v - (code * to.scale + to.minimum);
    error += off * off;
    std::memcpy(to.codes + i, &code, sizeof(code));
  }
  to.error = sum_of(error);
}

// The scale and minimum of the least squares for codes; false if all codes are equal.
bool regress(const float* x, std::int64_t n, const float* codes, float& scale, float& minimum) noexcept {
  Four sums[4] = {};  // of c, cc, x, cx
  for (std::int64_t i = 0; i < n; i += 4) {
    const Four c = four(codes + i), v = four(x + i);
    sums[0] += c;
    sums[1] += c * c;
    sums[2] += v;
    sums[3] += c * v;
  }
  const float sum_c = sum_of(sums[0]), sum_cc = sum_of(sums[1]), sum_x = sum_of(sums[2]), sum_cx = sum_of(sums[3]);
  const auto count = static_cast<float>(n);
  const float spread = count * sum_cc - sum_c * sum_c;
  if (!(spread > 0.0f)) return false;
  scale = (count * sum_cx - sum_c * sum_x) / spread;
  minimum = (sum_x - scale * sum_c) / count;
  return scale > 0.0f;
}

// The codes of x [n], as CodeGroup has them.
CodeGroup encode(const float* x, std::int64_t n, int levels, std::uint8_t* codes) noexcept {
  float low = x[0], high = x[0], poison = 0.0f;
  for (std::int64_t i = 0; i < n; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
    poison += x[i] * 0.0f;
  }
  constexpr float kMaxHalf = 65504.0f;
  if (poison != 0.0f || !(high <= kMaxHalf && low >= -kMaxHalf)) {
    std::memset(codes, 0, static_cast<std::size_t>(n));
    return {kHalfNan, kHalfNan};
  }
  const auto top = static_cast<float>(levels);
  const float range = high * (1.0f / top) - low * (1.0f / top);
  Attempt best, next;
  attempt(x, n, top, range, low, best);
  const auto keep_better = [&] {
    if (next.error < best.error) best = next;
  };
  float scale, minimum;
  if (levels < 64) {                             // eight bits gain nothing
    for (const float inside : {0.04f, 0.08f}) {  // of the range, at either end
      attempt(x, n, top, range * (1.0f - 2.0f * inside), low + inside * range * top, next);
      if (regress(x, n, next.codes, scale, minimum)) attempt(x, n, top, scale, minimum, next);
      keep_better();
    }
    for (int round = 0; round < 2 && regress(x, n, best.codes, scale, minimum); ++round) {
      attempt(x, n, top, scale, minimum, next);
      keep_better();
    }
  }
  for (std::int64_t i = 0; i < n; ++i) codes[i] = static_cast<std::uint8_t>(best.codes[i]);
  return {f32_to_f16(best.scale), f32_to_f16(best.minimum)};
}

// All groups of a head: `size` dimensions each, the last one maybe fewer.
bool encode_head(const float* x, std::int64_t padded_dim, std::int64_t size, int levels, std::uint8_t* codes,
                 std::byte* scales) noexcept {
  const std::int64_t groups = (padded_dim + size - 1) / size;
  bool fits = true;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t first = g * size, n = std::min(size, padded_dim - first);
    const CodeGroup group = encode(x + first, n, levels, codes + first);
    std::memcpy(scales + 2 * g, &group.scale, 2);
    std::memcpy(scales + 2 * (groups + g), &group.minimum, 2);
    if (group.scale != kHalfNan) continue;
    fits = fits && !std::all_of(x + first, x + first + n, [](float v) { return std::isfinite(v); });
  }
  return fits;
}

void decode_head(const std::uint8_t* codes, const std::byte* scales, std::int64_t padded_dim, std::int64_t size,
                 float* x) noexcept {
  const std::int64_t groups = (padded_dim + size - 1) / size;
  for (std::int64_t d = 0; d < padded_dim; ++d) {
    CodeGroup group;
    std::memcpy(&group.scale, scales + 2 * (d / size), 2);
    std::memcpy(&group.minimum, scales + 2 * (groups + d / size), 2);
    x[d] = static_cast<float>(codes[d]) * f16_to_f32(group.scale) + f16_to_f32(group.minimum);
  }
}

}  // namespace

CodeGroup encode_group(const float* x, int levels, std::uint8_t* codes) noexcept {
  return encode(x, kCodeGroup, levels, codes);
}

bool encode_groups(const float* x, std::int64_t padded_dim, int levels, std::uint8_t* codes,
                   std::byte* scales) noexcept {
  return encode_head(x, padded_dim, kCodeGroup, levels, codes, scales);
}

void decode_groups(const std::uint8_t* codes, const std::byte* scales, std::int64_t padded_dim, float* x) noexcept {
  decode_head(codes, scales, padded_dim, kCodeGroup, x);
}

bool encode_keys(const float* x, std::int64_t padded_dim, int levels, std::uint8_t* codes, std::byte* scales) noexcept {
  return encode_head(x, padded_dim, kKeyGroup, levels, codes, scales);
}

void decode_keys(const std::uint8_t* codes, const std::byte* scales, std::int64_t padded_dim, float* x) noexcept {
  decode_head(codes, scales, padded_dim, kKeyGroup, x);
}

void take_fifth_bits(std::uint8_t* codes, std::int64_t padded_dim, std::byte* to) noexcept {
  for (std::int64_t d = 0; d < padded_dim; d += 16, to += 2) {
    std::uint16_t word = 0;
    for (int i = 0; i < 16; ++i) word = static_cast<std::uint16_t>(word | (codes[d + i] >> 4 & 1) << i);
    for (int i = 0; i < 16; ++i) codes[d + i] &= 15;
    std::memcpy(to, &word, 2);
  }
}

void give_fifth_bits(const std::byte* from, std::int64_t padded_dim, std::uint8_t* codes) noexcept {
  for (std::int64_t d = 0; d < padded_dim; d += 16, from += 2) {
    std::uint16_t word;
    std::memcpy(&word, from, 2);
    for (int i = 0; i < 16; ++i) codes[d + i] = static_cast<std::uint8_t>(codes[d + i] | (word >> i & 1) << 4);
  }
}

void pack_key_nibbles(const std::uint8_t* codes, std::int64_t padded_dim, std::byte* to) noexcept {
  for (std::int64_t d = 0; d < padded_dim; d += 8) {
    for (int i = 0; i < 4; ++i) to[d / 2 + i] = pair_of(codes[d + i], codes[d + 4 + i]);
  }
}
void unpack_key_nibbles(const std::byte* from, std::int64_t padded_dim, std::uint8_t* codes) noexcept {
  for (std::int64_t d = 0; d < padded_dim; d += 8) {
    for (int i = 0; i < 4; ++i) codes[d + i] = low_of(from[d / 2 + i]), codes[d + 4 + i] = high_of(from[d / 2 + i]);
  }
}
void pack_value_nibbles(const std::uint8_t* codes, std::int64_t padded_dim, std::byte* to) noexcept {
  for (std::int64_t strip = 0; strip < padded_dim; strip += kStrip) {
    const std::int64_t half = std::min(kStrip, padded_dim - strip) / 2;
    for (std::int64_t i = 0; i < half; ++i) to[strip / 2 + i] = pair_of(codes[strip + i], codes[strip + half + i]);
  }
}
void unpack_value_nibbles(const std::byte* from, std::int64_t padded_dim, std::uint8_t* codes) noexcept {
  for (std::int64_t strip = 0; strip < padded_dim; strip += kStrip) {
    const std::int64_t half = std::min(kStrip, padded_dim - strip) / 2;
    for (std::int64_t i = 0; i < half; ++i) {
      codes[strip + i] = low_of(from[strip / 2 + i]);
      codes[strip + half + i] = high_of(from[strip / 2 + i]);
    }
  }
}

}  // namespace millrace::backend::cpu
