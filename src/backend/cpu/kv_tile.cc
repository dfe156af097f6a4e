#include "backend/cpu/kv_tile.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace millrace::backend::cpu {
namespace {

// Elements of a type, and the n of them that lie together in a tile.
template <typename UnitType, typename ElementType>
struct Elements {
  using Unit = UnitType;
  using Element = ElementType;
  static constexpr auto kUnit = static_cast<std::int64_t>(sizeof(Unit));
  static constexpr auto kElement = static_cast<std::int64_t>(sizeof(Element));
  static constexpr std::int64_t kTogether = kUnit / kElement;

  // Bytes from the beginning of a tile to the value of a token and column.
  static std::int64_t value_at(const TileForm& form, std::int64_t token, std::int64_t column) noexcept {
    const std::int64_t strip = column / form.strip * form.strip,
                       width = std::min(form.strip, form.value_columns - strip);
    return static_cast<std::int64_t>(form.values_at()) +
           (strip * kTileTokens + (token / kTogether * width + column - strip) * kTogether + token % kTogether) *
               kElement;
  }
};

template <typename Visit>
void with_elements(const TileForm& form, const Visit& visit) noexcept {
  switch (form.element * 8 + form.together) {
    case 4 * 8 + 1: visit(Elements<std::uint32_t, std::uint32_t>()); return;
    case 2 * 8 + 1: visit(Elements<std::uint16_t, std::uint16_t>()); return;
    case 2 * 8 + 2: visit(Elements<std::uint32_t, std::uint16_t>()); return;
    case 1 * 8 + 2: visit(Elements<std::uint16_t, std::uint8_t>()); return;
    default: visit(Elements<std::uint32_t, std::uint8_t>()); return;
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

void write_to_tile(const TileForm& in_memory, std::int64_t token, const KvToken& from, std::byte* tile) noexcept {
  const TileForm form = in_memory;  // bytes written may alias it
  with_elements(form, [&](auto elements) {
    using E = decltype(elements);
    for (std::int64_t c = 0; c < form.key_columns / E::kTogether; ++c) {
      std::memcpy(tile + (c * kTileTokens + token) * E::kUnit, from.key + c * E::kUnit, sizeof(typename E::Unit));
    }
    for (std::int64_t strip = 0; strip < form.value_columns; strip += form.strip) {
      const std::int64_t width = std::min(form.strip, form.value_columns - strip);
      std::byte* to = tile + E::value_at(form, token, strip);
      for (std::int64_t c = 0; c < width; ++c) {
        std::memcpy(to + c * E::kUnit, from.value + (strip + c) * E::kElement, sizeof(typename E::Element));
      }
    }
  });
  std::byte* scale = tile + form.scales_at() + token * form.scale_bytes;
  const auto bytes = static_cast<std::size_t>(form.scale_bytes);
  for (std::int64_t i = 0; i < form.key_scales; ++i, scale += kTileTokens * form.scale_bytes) {
    std::memcpy(scale, from.key_scales + i * form.scale_bytes, bytes);
  }
  for (std::int64_t i = 0; i < form.value_scales; ++i, scale += kTileTokens * form.scale_bytes) {
    std::memcpy(scale, from.value_scales + i * form.scale_bytes, bytes);
  }
}

void gather_keys(const TileForm& form, const std::byte* const* keys, std::int64_t piece_stride,
                 std::byte* tile) noexcept {
  with_elements(form, [&](auto elements) {
    using E = decltype(elements);
    constexpr int kRows = kPiece / static_cast<int>(E::kUnit);
    for (std::int64_t piece = 0; piece < form.key_bytes() / kPiece; ++piece) {
      std::byte* to = tile + piece * kRows * kTileTokens * E::kUnit;
      for (std::int64_t t = 0; t < kTileTokens; t += kRows) {
        Piece<typename E::Unit> rows[kRows];
        for (int i = 0; i < kRows; ++i) std::memcpy(&rows[i], keys[t + i] + piece * piece_stride, kPiece);
        interleave<typename E::Unit>(rows);
        for (int i = 0; i < kRows; ++i) std::memcpy(to + (i * kTileTokens + t) * E::kUnit, &rows[i], kPiece);
      }
    }
  });
}

void gather_value_rows(const TileForm& form, const std::byte* const* values, std::byte* tile) noexcept {
  with_elements(form, [&](auto elements) {
    using E = decltype(elements);
    constexpr int kRows = static_cast<int>(E::kTogether);
    for (std::int64_t t = 0; t < kTileTokens; t += kRows) {
      for (std::int64_t c = 0; c < form.value_columns; c += kPiece / E::kElement) {
        Piece<typename E::Element> rows[kRows];
        for (int i = 0; i < kRows; ++i) std::memcpy(&rows[i], values[t + i] + c * E::kElement, kPiece);
        interleave<typename E::Element>(rows);
        std::memcpy(tile + E::value_at(form, t, c), rows, sizeof(rows));
      }
    }
  });
}

void gather_value_columns(const TileForm& form, const std::byte* values, std::int64_t stride, std::int64_t token,
                          std::byte* tile) noexcept {
  with_elements(form, [&](auto elements) {
    using E = decltype(elements);
    constexpr int kRows = kPiece / static_cast<int>(E::kUnit);
    for (std::int64_t c = 0; c < form.value_columns; c += kRows) {
      Piece<typename E::Unit> rows[kRows];
      for (int i = 0; i < kRows; ++i) std::memcpy(&rows[i], values + (c + i) * stride, kPiece);
      interleave<typename E::Unit>(rows);
      for (int i = 0; i < kRows; ++i) {
        std::memcpy(tile + E::value_at(form, token + i * E::kTogether, c), &rows[i], kPiece);
      }
    }
  });
}

}  // namespace millrace::backend::cpu
