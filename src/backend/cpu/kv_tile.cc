#include "backend/cpu/kv_tile.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace millrace::backend::cpu {
namespace {

// The elements of a type, and the n of them that lie together in a tile.
template <typename UnitType, typename ElementType>
struct Form {
  using Unit = UnitType;
  using Element = ElementType;
  static constexpr auto kUnit = static_cast<std::int64_t>(sizeof(Unit));
  static constexpr auto kElement = static_cast<std::int64_t>(sizeof(Element));
  static constexpr std::int64_t kDot = kUnit / kElement;

  // Bytes from the first value of a tile to that of a token and dimension.
  static std::int64_t value_at(std::int64_t padded_dim, std::int64_t token, std::int64_t d) noexcept {
    const std::int64_t strip = d / kStripDims * kStripDims, width = std::min(kStripDims, padded_dim - strip);
    return (strip * kTileTokens + (token / kDot * width + d - strip) * kDot + token % kDot) * kElement;
  }
};

template <typename Visit>
void with_form(DType type, const Visit& visit) noexcept {
  switch (type) {
    case DType::kF32: visit(Form<std::uint32_t, std::uint32_t>()); return;
    case DType::kF16: visit(Form<std::uint16_t, std::uint16_t>()); return;
    case DType::kBF16: visit(Form<std::uint32_t, std::uint16_t>()); return;
    default: visit(Form<std::uint32_t, std::uint8_t>()); return;
  }
}

template <typename T>
using Piece [[gnu::vector_size(kPiece)]] = T;

template <typename T, int... kIndex>
void zip(Piece<T>& a, Piece<T>& b, std::integer_sequence<int, kIndex...>) noexcept {
  constexpr int kLanes = sizeof...(kIndex);
  const Piece<T> low = __builtin_shufflevector(a, b, (kIndex / 2 + kIndex % 2 * kLanes)...);
  b = __builtin_shufflevector(a, b, (kIndex / 2 + kIndex % 2 * kLanes + kLanes / 2)...);
  a = low;
}

// rows[0][0], rows[1][0], ..., rows[0][1], ...: the columns of the rows one after the other. A row is a piece, kRows a
// power of two.
template <typename T, int kRows>
void interleave(Piece<T> (&rows)[kRows]) noexcept {
  constexpr int kLanes = kPiece / static_cast<int>(sizeof(T));
  for (int step = kRows; step > 1; step /= 2) {
    Piece<T> next[kRows];
    for (int i = 0; i < kRows / 2; ++i) {
      Piece<T> a = rows[i], b = rows[i + kRows / 2];
      zip<T>(a, b, std::make_integer_sequence<int, kLanes>());
      next[2 * i] = a;
      next[2 * i + 1] = b;
    }
    for (int i = 0; i < kRows; ++i) rows[i] = next[i];
  }
}

}  // namespace

void write_to_tile(const TileForm& form, std::int64_t token, const KvToken& from, std::byte* tile) noexcept {
  const std::int64_t key_dim = form.key_dim, value_dim = form.value_dim;  // bytes written may alias the form
  std::byte* values = tile + form.values_at();
  with_form(form.type, [&](auto elements) {
    using F = decltype(elements);
    for (std::int64_t d = 0; d < key_dim / F::kDot; ++d) {
      std::memcpy(tile + (d * kTileTokens + token) * F::kUnit, from.key + d * F::kUnit, sizeof(typename F::Unit));
    }
    for (std::int64_t strip = 0; strip < value_dim; strip += kStripDims) {
      const std::int64_t width = std::min(kStripDims, value_dim - strip);
      std::byte* to = values + F::value_at(value_dim, token, strip);
      for (std::int64_t d = 0; d < width; ++d) {
        std::memcpy(to + d * F::kUnit, from.value + (strip + d) * F::kElement, sizeof(typename F::Element));
      }
    }
  });
  if (form.type != DType::kI8) return;
  std::byte* scales = tile + form.scales_at();
  std::memcpy(scales + token * std::int64_t{sizeof(float)}, &from.key_scale, sizeof(float));
  std::memcpy(scales + (kTileTokens + token) * std::int64_t{sizeof(float)}, &from.value_scale, sizeof(float));
}

void gather_keys(DType type, std::int64_t padded_dim, const std::byte* const* keys, std::int64_t piece_stride,
                 std::byte* tile) noexcept {
  with_form(type, [&](auto form) {
    using F = decltype(form);
    constexpr int kRows = kPiece / static_cast<int>(F::kUnit);
    for (std::int64_t piece = 0; piece < padded_dim * F::kElement / kPiece; ++piece) {
      std::byte* to = tile + piece * kRows * kTileTokens * F::kUnit;
      for (std::int64_t t = 0; t < kTileTokens; t += kRows) {
        Piece<typename F::Unit> rows[kRows];
        for (int i = 0; i < kRows; ++i) std::memcpy(&rows[i], keys[t + i] + piece * piece_stride, kPiece);
        interleave<typename F::Unit>(rows);
        for (int i = 0; i < kRows; ++i) std::memcpy(to + (i * kTileTokens + t) * F::kUnit, &rows[i], kPiece);
      }
    }
  });
}

void gather_value_rows(DType type, std::int64_t padded_dim, const std::byte* const* values, std::byte* to) noexcept {
  with_form(type, [&](auto form) {
    using F = decltype(form);
    constexpr int kRows = static_cast<int>(F::kDot);
    for (std::int64_t t = 0; t < kTileTokens; t += kRows) {
      for (std::int64_t d = 0; d < padded_dim; d += kPiece / F::kElement) {
        Piece<typename F::Element> rows[kRows];
        for (int i = 0; i < kRows; ++i) std::memcpy(&rows[i], values[t + i] + d * F::kElement, kPiece);
        interleave<typename F::Element>(rows);
        std::memcpy(to + F::value_at(padded_dim, t, d), rows, sizeof(rows));
      }
    }
  });
}

void gather_value_columns(DType type, std::int64_t padded_dim, const std::byte* values, std::int64_t stride,
                          std::int64_t token, std::byte* to) noexcept {
  with_form(type, [&](auto form) {
    using F = decltype(form);
    constexpr int kRows = kPiece / static_cast<int>(F::kUnit);
    for (std::int64_t d = 0; d < padded_dim; d += kRows) {
      Piece<typename F::Unit> rows[kRows];
      for (int i = 0; i < kRows; ++i) std::memcpy(&rows[i], values + (d + i) * stride, kPiece);
      interleave<typename F::Unit>(rows);
      for (int i = 0; i < kRows; ++i) {
        std::memcpy(to + F::value_at(padded_dim, token + i * F::kDot, d), &rows[i], kPiece);
      }
    }
  });
}

}  // namespace millrace::backend::cpu
