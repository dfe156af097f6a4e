#include <cstring>

#include "backend/cpu/pack.h"

namespace millrace::backend::cpu {
namespace {

constexpr int kMaxBlock = 256;  // values of the largest block of any format

// The group of 32 values as codes of one row, put into the 16-row interleaving.
void place_codes(const quant::AffineForm& affine, const std::uint8_t* codes, int row, std::byte* out) {
  auto* bytes = reinterpret_cast<std::uint8_t*>(out);
  for (int k = 0; k < kGroup; ++k) {
    const int quad = k / 4;
    if (affine.code_bits == 8) {
      bytes[quad * 64 + row * 4 + k % 4] = codes[k];
    } else {
      std::uint8_t& byte = bytes[(quad % 4) * 64 + row * 4 + k % 4];
      byte = static_cast<std::uint8_t>(quad < 4 ? (byte & 0xf0) | codes[k] : (byte & 0x0f) | (codes[k] << 4));
    }
  }
}

void place_scale(const quant::AffineForm& affine, float value, int index, int row, std::byte* out) {
  if (affine.wide_scale) {
    std::memcpy(out + (index * kPanelRows + row) * 4, &value, 4);
  } else {
    const std::uint16_t half = f32_to_f16(value);
    std::memcpy(out + (index * kPanelRows + row) * 2, &half, 2);
  }
}

float read_scale(const quant::AffineForm& affine, int index, int row, const std::byte* in) {
  if (affine.wide_scale) {
    float value;
    std::memcpy(&value, in + (index * kPanelRows + row) * 4, 4);
    return value;
  }
  std::uint16_t half;
  std::memcpy(&half, in + (index * kPanelRows + row) * 2, 2);
  return f16_to_f32(half);
}

// OPTIMIZATION: the 32-value formats of GGUF keep their codes in the very order that a packed group has within a row:
// value i in the low nibbles and i + 16 in the high ones are quads j and j + 4. Packing is then a copy of words, at
// memory speed.
struct WordLayout {
  std::string_view name;
  int block_bytes, scale_at, min_at, codes_at, words;
  std::uint32_t flip;  // turns signed codes into unsigned ones
};
constexpr WordLayout kWordLayouts[] = {
    {"q4_0", 18, 0, -1, 2, 4, 0}, {"q4_1", 20, 0, 2, 4, 4, 0}, {"q8_0", 34, 0, -1, 2, 8, 0x80808080u}};

const WordLayout* word_layout(std::string_view name) {
  for (const WordLayout& layout : kWordLayouts) {
    if (layout.name == name) return &layout;
  }
  return nullptr;
}

void pack_words(const quant::AffineForm& affine, const WordLayout& layout, const std::byte* rows, int n_rows,
                std::size_t row_bytes, std::int64_t groups, std::byte* panel) {
  for (std::int64_t g = 0; g < groups; ++g) {
    std::byte* out = panel + static_cast<std::size_t>(g) * group_bytes(affine);
    std::byte* codes = out + scale_bytes(affine) * (affine.has_min ? 2 : 1);
    for (int r = 0; r < n_rows; ++r) {
      const std::byte* block = rows + static_cast<std::size_t>(r) * row_bytes + g * layout.block_bytes;
      std::memcpy(out + 2 * r, block + layout.scale_at, 2);
      if (layout.min_at >= 0) std::memcpy(out + scale_bytes(affine) + 2 * r, block + layout.min_at, 2);
      for (int w = 0; w < layout.words; ++w) {
        std::uint32_t word;
        std::memcpy(&word, block + layout.codes_at + 4 * w, 4);
        word ^= layout.flip;
        std::memcpy(codes + 64 * w + 4 * r, &word, 4);
      }
    }
  }
}

}  // namespace

std::size_t affine_panel_bytes(const quant::QuantFormat& format, std::int64_t k) {
  return group_bytes(format.affine) * static_cast<std::size_t>(k / kGroup);
}

void pack_affine(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k,
                 std::byte* panel) {
  const quant::AffineForm& affine = format.affine;
  const std::size_t row_bytes = format.row_bytes(k);
  if (n_rows < kPanelRows) std::memset(panel, 0, affine_panel_bytes(format, k));  // scale 0: absent rows are zeros
  if (const WordLayout* layout = word_layout(format.name)) {
    return pack_words(affine, *layout, rows, n_rows, row_bytes, k / kGroup, panel);
  }
  std::uint8_t codes[kMaxBlock];
  float scales[kMaxBlock / 16], mins[kMaxBlock / 16];
  const int scales_per_group = kGroup / affine.scale_group;
  for (int r = 0; r < n_rows; ++r) {
    for (std::int64_t b = 0; b < k / format.block_values; ++b) {
      affine.decompose(rows + static_cast<std::size_t>(r) * row_bytes + b * format.block_bytes, codes, scales, mins);
      for (int g = 0; g < format.block_values / kGroup; ++g) {
        const std::int64_t group = b * (format.block_values / kGroup) + g;
        std::byte* out = panel + static_cast<std::size_t>(group) * group_bytes(affine);
        for (int s = 0; s < scales_per_group; ++s) {
          place_scale(affine, scales[g * scales_per_group + s], s, r, out);
          if (affine.has_min) place_scale(affine, mins[g * scales_per_group + s], s, r, out + scale_bytes(affine));
        }
        place_codes(affine, codes + g * kGroup, r, out + scale_bytes(affine) * (affine.has_min ? 2 : 1));
      }
    }
  }
}

void unpack_affine_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out) {
  const quant::AffineForm& affine = format.affine;
  for (std::int64_t g = 0; g < k / kGroup; ++g) {
    const std::byte* group = panel + static_cast<std::size_t>(g) * group_bytes(affine);
    const auto* codes = reinterpret_cast<const std::uint8_t*>(group + scale_bytes(affine) * (affine.has_min ? 2 : 1));
    for (int i = 0; i < kGroup; ++i) {
      const int quad = i / 4, s = i / affine.scale_group;
      int code;
      if (affine.code_bits == 8) {
        code = codes[quad * 64 + row * 4 + i % 4];
      } else {
        const std::uint8_t byte = codes[(quad % 4) * 64 + row * 4 + i % 4];
        code = quad < 4 ? byte & 15 : byte >> 4;
      }
      const float value = read_scale(affine, s, row, group) * static_cast<float>(code - affine.zero);
      out[g * kGroup + i] = affine.has_min ? value + read_scale(affine, s, row, group + scale_bytes(affine)) : value;
    }
  }
}

}  // namespace millrace::backend::cpu
