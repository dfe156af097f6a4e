#include <array>
#include <cstring>

#include "backend/cpu/pack.h"

namespace millrace::backend::cpu {
namespace {

using quant::AffineBlock;
using quant::AffineForm;

constexpr int kQuads = kGroup / 4;

// The codes of a group as words of four: [quad][row], as vectors of codes want them. Plain loops over 16 rows, which
// the compiler turns into vectors.
using QuadWords = std::array<std::array<std::uint32_t, kPanelRows>, kQuads>;

QuadWords gather_quads(const AffineBlock* rows, int group) {
  QuadWords words;
  for (int r = 0; r < kPanelRows; ++r) {
    std::array<std::uint32_t, kQuads> row;
    std::memcpy(row.data(), rows[r].codes + group * kGroup, sizeof row);
    for (int j = 0; j < kQuads; ++j) words[j][r] = row[j];
  }
  return words;
}

using Vector = std::array<std::uint32_t, kPanelRows>;

// Writes `kCount` consecutive fields of `kBits` bits, taken from bit kFrom of the quads first, first + step, ... .
template <int kFrom, int kBits, int kCount>
std::byte* put_fields(const QuadWords& words, int first, int step, std::byte* out) {
  constexpr std::uint32_t kMask = 0x01010101u * ((1u << kBits) - 1u);
  Vector vector{};
  for (int f = 0; f < kCount; ++f) {
    const Vector& quad = words[first + f * step];
    for (int r = 0; r < kPanelRows; ++r) vector[r] |= ((quad[r] >> kFrom) & kMask) << (f * kBits);
  }
  std::memcpy(out, vector.data(), sizeof vector);
  return out + sizeof vector;
}

template <int kFrom>
std::byte* put_bit_pairs(const QuadWords& words, std::byte* out) {
  for (int v = 0; v < 2; ++v) out = put_fields<kFrom, 2, 4>(words, 4 * v, 1, out);
  return out;
}

std::byte* put_nibbles(const QuadWords& words, std::byte* out) {
  for (int j = 0; j < 4; ++j) out = put_fields<0, 4, 2>(words, j, 4, out);
  return out;
}

// Where the bits of a code of three bits are in its group: bit `bit` of quad `quad` in bit `at` of vector `vector`.
struct ThreeBitPlace {
  int vector, at;
};
constexpr ThreeBitPlace place_of_three(int quad, int bit) noexcept {
  if (quad < 6) return {quad / 2, quad % 2 * 3 + bit};
  return bit < 2 ? ThreeBitPlace{quad - 6, 6 + bit} : ThreeBitPlace{2, quad};
}

std::byte* put_threes(const QuadWords& words, std::byte* out) {
  std::array<Vector, 3> vectors{};
  for (int quad = 0; quad < kQuads; ++quad) {
    for (int bit = 0; bit < 3; ++bit) {
      const auto [vector, at] = place_of_three(quad, bit);
      for (int r = 0; r < kPanelRows; ++r) vectors[vector][r] |= (words[quad][r] >> bit & 0x01010101u) << at;
    }
  }
  std::memcpy(out, vectors.data(), sizeof vectors);
  return out + sizeof vectors;
}

std::byte* put_codes(const AffineForm& form, const QuadWords& words, std::byte* out) {
  switch (form.code_bits) {
    case 1: return put_fields<0, 1, 8>(words, 0, 1, out);
    case 2: return put_bit_pairs<0>(words, out);
    case 3: return put_threes(words, out);
    case 4: return put_nibbles(words, out);
    case 5: return put_fields<4, 1, 8>(words, 0, 1, put_nibbles(words, out));
    case 6: return put_bit_pairs<4>(words, put_nibbles(words, out));
    default: std::memcpy(out, words.data(), sizeof words); return out + sizeof words;
  }
}

std::byte* put_sub_scales(const AffineForm& form, const AffineBlock* rows, int group, std::byte* out) {
  const int scales = kGroup / form.scale_group;
  const bool nibbles = form.has_min && scales > 1;
  for (int s = group * scales; s < (group + 1) * scales; ++s, out += kPanelRows) {
    for (int r = 0; r < kPanelRows; ++r) {
      const int min = nibbles ? rows[r].sub_mins[s] << 4 : 0;
      out[r] = static_cast<std::byte>(rows[r].sub_scales[s] | min);
    }
  }
  if (form.has_min && !nibbles) {
    for (int r = 0; r < kPanelRows; ++r) out[r] = static_cast<std::byte>(rows[r].sub_mins[group]);
    out += kPanelRows;
  }
  return out;
}

// A number of each row's block, as it is stored.
template <typename Stored, typename Number>
std::byte* put_numbers(const AffineBlock* rows, Number AffineBlock::* number, std::byte* out) {
  std::array<Stored, kPanelRows> all;
  for (int r = 0; r < kPanelRows; ++r) all[r] = static_cast<Stored>(rows[r].*number);
  std::memcpy(out, all.data(), sizeof all);
  return out + sizeof all;
}

template <typename Stored>
std::byte* put_scales(const AffineForm& form, const AffineBlock* rows, std::byte* out) {
  out = put_numbers<Stored>(rows, &AffineBlock::scale, out);
  return form.has_min ? put_numbers<Stored>(rows, &AffineBlock::min, out) : out;
}

std::byte* put_header(const AffineForm& form, const AffineBlock* rows, std::byte* out) {
  switch (scale_bytes(form.scales, form.number)) {
    case 0: break;
    case 1: out = put_scales<std::uint8_t>(form, rows, out); break;
    case 2: out = put_scales<std::uint16_t>(form, rows, out); break;
    default: out = put_scales<std::uint32_t>(form, rows, out);
  }
  return form.zero_points ? put_numbers<std::int8_t>(rows, &AffineBlock::zero_point, out) : out;
}

std::size_t panel_block_bytes(const quant::QuantFormat& format) {
  return header_bytes(format.affine) +
         group_bytes(format.affine) * static_cast<std::size_t>(format.block_values / kGroup);
}

// One value of a packed group: quad j, byte 4r + i.
std::uint8_t code_at(const AffineForm& form, const std::uint8_t* codes, int quad, int byte) {
  const auto bit_at = [&](int vector, int at) { return codes[vector * 64 + byte] >> at & 1; };
  const auto bit_pair = [&](int first) { return codes[(first + quad / 4) * 64 + byte] >> (quad % 4 * 2) & 3; };
  const auto nibble = [&] { return codes[quad % 4 * 64 + byte] >> (quad / 4 * 4) & 15; };
  int code = 0;
  switch (form.code_bits) {
    case 1: code = bit_at(0, quad); break;
    case 2: code = bit_pair(0); break;
    case 3:
      for (int bit = 0; bit < 3; ++bit)
        code |= bit_at(place_of_three(quad, bit).vector, place_of_three(quad, bit).at) << bit;
      break;
    case 4: code = nibble(); break;
    case 5: code = nibble() | bit_at(4, quad) << 4; break;
    case 6: code = nibble() | bit_pair(4) << 4; break;
    default: code = codes[quad * 64 + byte];
  }
  return static_cast<std::uint8_t>(code);
}

// Takes one row of a packed block apart again.
void read_block(const quant::QuantFormat& format, const std::byte* in, int row, AffineBlock& out) {
  const AffineForm& form = format.affine;
  const int width = scale_bytes(form.scales, form.number);
  const std::byte* second = in + kPanelRows * width;
  std::memcpy(&out.scale, in + width * row, static_cast<std::size_t>(width));
  if (form.has_min) std::memcpy(&out.min, second + width * row, static_cast<std::size_t>(width));
  if (form.zero_points) out.zero_point = static_cast<std::int8_t>(second[row]);
  const auto* group = reinterpret_cast<const std::uint8_t*>(in + header_bytes(form));
  const int scales = kGroup / form.scale_group;
  for (int g = 0; g < format.block_values / kGroup; ++g, group += group_bytes(form)) {
    for (int s = 0; s < scales && has_sub_scales(form); ++s) {
      const std::uint8_t byte = group[s * kPanelRows + row];
      const bool nibbles = form.has_min && scales > 1;
      out.sub_scales[g * scales + s] = static_cast<std::int8_t>(nibbles ? byte & 15 : byte);
      out.sub_mins[g * scales + s] = nibbles ? byte >> 4 : group[kPanelRows + row];
    }
    for (int i = 0; i < kGroup; ++i) {
      out.codes[g * kGroup + i] = code_at(form, group + sub_scale_bytes(form), i / 4, row * 4 + i % 4);
    }
  }
}

}  // namespace

std::size_t affine_panel_bytes(const quant::QuantFormat& format, std::int64_t k) {
  return panel_block_bytes(format) * static_cast<std::size_t>(k / format.block_values);
}

void pack_affine(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k,
                 std::byte* panel) {
  const AffineForm& form = format.affine;
  const std::size_t row_bytes = format.row_bytes(k);
  std::array<AffineBlock, kPanelRows> blocks{};  // zeros: a row that is absent has scale 0, or level 0
  for (std::int64_t b = 0; b < k / format.block_values; ++b) {
    for (int r = 0; r < n_rows; ++r) {
      form.decompose(rows + static_cast<std::size_t>(r) * row_bytes + b * format.block_bytes, blocks[r]);
    }
    panel = put_header(form, blocks.data(), panel);
    for (int g = 0; g < format.block_values / kGroup; ++g) {
      if (has_sub_scales(form)) panel = put_sub_scales(form, blocks.data(), g, panel);
      panel = put_codes(form, gather_quads(blocks.data(), g), panel);
    }
  }
}

void unpack_affine_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out) {
  const AffineForm& form = format.affine;
  AffineBlock block{};
  for (std::int64_t b = 0; b < k / format.block_values; ++b, panel += panel_block_bytes(format)) {
    read_block(format, panel, row, block);
    for (int i = 0; i < format.block_values; ++i, ++out) *out = form.value(block, i);
  }
}

}  // namespace millrace::backend::cpu
