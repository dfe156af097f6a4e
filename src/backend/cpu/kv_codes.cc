#include "backend/cpu/kv_codes.h"

#include <algorithm>
#include <cstring>

namespace millrace::backend::cpu {
namespace {

constexpr std::int64_t kStrip = 64;  // dimensions of values that lie together

std::byte pair_of(std::uint8_t low, std::uint8_t high) noexcept {
  return static_cast<std::byte>((low & 15) | high << 4);
}
std::uint8_t low_of(std::byte b) noexcept { return std::to_integer<std::uint8_t>(b & std::byte{15}); }
std::uint8_t high_of(std::byte b) noexcept { return std::to_integer<std::uint8_t>(b >> 4); }

float encode_group(const float* x, std::int64_t n, float most, std::int8_t* codes) noexcept {
  float largest = 0.0f, poison = 0.0f;
  for (std::int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::fabs(x[i]));
    poison += x[i] * 0.0f;
  }
  constexpr float kLeast = 1e-30f;  // below, everything is zeros: its inverse would be infinite
  if (poison != 0.0f || largest < kLeast) {
    std::memset(codes, 0, static_cast<std::size_t>(n));
    return poison != 0.0f ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
  }
  const float inverse = most / largest;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to integers
  for (std::int64_t i = 0; i < n; ++i) codes[i] = static_cast<std::int8_t>((x[i] * inverse + kRound) - kRound);
  return largest / most;
}

}  // namespace

void encode_groups(const float* x, std::int64_t padded_dim, int most, std::int8_t* codes, std::byte* scales) noexcept {
  for (std::int64_t first = 0; first < padded_dim; first += kCodeGroup, scales += sizeof(float)) {
    const std::int64_t n = std::min(kCodeGroup, padded_dim - first);
    const float scale = encode_group(x + first, n, static_cast<float>(most), codes + first);
    std::memcpy(scales, &scale, sizeof(scale));
  }
}

void decode_groups(const std::int8_t* codes, const std::byte* scales, std::int64_t padded_dim, float* x) noexcept {
  for (std::int64_t d = 0; d < padded_dim; ++d) {
    float scale;
    std::memcpy(&scale, scales + d / kCodeGroup * static_cast<std::int64_t>(sizeof(scale)), sizeof(scale));
    x[d] = scale * static_cast<float>(codes[d]);
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

void pack_key_pairs(const std::uint8_t* codes, std::int64_t padded_dim, std::byte* to) noexcept {
  for (std::int64_t d = 0; d < padded_dim; d += 16) {
    for (int j = 0; j < 4; ++j, ++to) {
      int pairs = 0;
      for (int i = 0; i < 4; ++i) pairs |= (codes[d + 4 * i + j] >> 4 & 3) << 2 * i;
      *to = static_cast<std::byte>(pairs);
    }
  }
}
void unpack_key_pairs(const std::byte* from, std::int64_t padded_dim, std::uint8_t* codes) noexcept {
  for (std::int64_t d = 0; d < padded_dim; d += 16) {
    for (int j = 0; j < 4; ++j, ++from) {
      for (int i = 0; i < 4; ++i) {
        codes[d + 4 * i + j] =
            static_cast<std::uint8_t>(codes[d + 4 * i + j] | (std::to_integer<int>(*from) >> 2 * i & 3) << 4);
      }
    }
  }
}

void pack_value_bits(const std::uint8_t* codes, std::int64_t padded_dim, std::byte* to) noexcept {
  for (std::int64_t d = 0; d < padded_dim; d += 8, ++to) {
    int bits = 0;
    for (int i = 0; i < 8; ++i) bits |= (codes[d + i] >> 4 & 1) << i;
    *to = static_cast<std::byte>(bits);
  }
}
void unpack_value_bits(const std::byte* from, std::int64_t padded_dim, std::uint8_t* codes) noexcept {
  for (std::int64_t d = 0; d < padded_dim; d += 8, ++from) {
    for (int i = 0; i < 8; ++i) {
      codes[d + i] = static_cast<std::uint8_t>(codes[d + i] | (std::to_integer<int>(*from) >> i & 1) << 4);
    }
  }
}

}  // namespace millrace::backend::cpu
