#include <array>
#include <cstring>

#include "backend/cpu/compact_panel.h"
#include "backend/cpu/pack.h"

namespace millrace::backend::cpu {
namespace {

using quant::GridForm;
using quant::GridSigns;
using BlockOfRows = std::array<quant::GridBlock, kPanelRows>;

void set_bit(std::byte* bits, std::size_t at, bool value) noexcept {
  if (value) bits[at / 8] |= std::byte{static_cast<std::uint8_t>(1u << (at % 8))};
}
bool has_bit(const std::byte* bits, std::size_t at) noexcept {
  return (std::to_integer<unsigned>(bits[at / 8]) >> (at % 8) & 1u) != 0;
}

// Bit b of sub-scale i of row r.
std::size_t scale_bit(const GridForm& form, int scales, int i, int r, int b) noexcept {
  if (form.scale_bits == 3) return static_cast<std::size_t>((b * scales + i) * kPanelRows + r);
  const int half = scales / 2;
  return static_cast<std::size_t>(8 * (i % half * kPanelRows + r) + i / half * 4 + b);
}

void pack_scales(const GridForm& form, int scales, const BlockOfRows& rows, std::byte* to) noexcept {
  for (int r = 0; r < kPanelRows; ++r) {
    for (int i = 0; i < scales; ++i) {
      const unsigned stored = static_cast<unsigned>(rows[static_cast<std::size_t>(r)].scales.sub_scales[i]) / 2;
      for (int b = 0; b < form.scale_bits; ++b) set_bit(to, scale_bit(form, scales, i, r, b), (stored >> b & 1u) != 0);
    }
  }
}

// Bit b >= 8 of the index at `at`.
std::size_t high_bit(const GridForm& form, int at, int b) noexcept {
  return static_cast<std::size_t>(compact_indices(form) * b + at);
}

void pack_indices(const GridForm& form, const BlockOfRows& rows, int group, std::byte* to) noexcept {
  const int n = kGroup / form.row_values;
  for (int r = 0; r < kPanelRows; ++r) {
    for (int i = 0; i < n; ++i) {
      const unsigned index = rows[static_cast<std::size_t>(r)].rows[group * n + i];
      const int at = compact_index(form, i, r);
      to[at] = static_cast<std::byte>(index);
      for (int b = 8; b < form.index_bits; ++b) set_bit(to, high_bit(form, at, b), (index >> b & 1u) != 0);
    }
  }
}

void pack_signs(const GridForm& form, const BlockOfRows& rows, int group, std::byte* to) noexcept {
  std::uint64_t quads[8] = {};
  for (int r = 0; r < kPanelRows; ++r) {
    for (int c = 0; c < 4; ++c) {
      const std::uint64_t signs = rows[static_cast<std::size_t>(r)].signs[group * 4 + c];
      quads[2 * c] |= (signs & 15u) << (4 * r);
      quads[2 * c + 1] |= (signs >> 4) << (4 * r);
      if (form.signs == GridSigns::kOfCell) set_bit(to, static_cast<std::size_t>(16 * c + r), signs != 0);
      if (form.signs == GridSigns::kOfGroup && c == 0) set_bit(to, static_cast<std::size_t>(r), signs != 0);
    }
  }
  std::uint64_t words[7];
  store_sign_words(quads, words);
  if (form.signs == GridSigns::kEight) std::memcpy(to, quads, sizeof quads);
  if (form.signs == GridSigns::kSeven) std::memcpy(to, words, sizeof words);
}

// What `read` says of one row of a packed block.
class PackedBlock {
 public:
  PackedBlock(const GridForm& form, int scale_group, const std::byte* block)
      : form_(form),
        scales_(static_cast<int>(kGridBlock) / scale_group),
        block_(block),
        sub_scales_(block + 2 * kPanelRows),
        groups_(sub_scales_ + compact_scale_bytes(form, scale_group)) {}
  void read(int row, quant::GridBlock& out) const noexcept {
    std::uint16_t half;
    std::memcpy(&half, block_ + 2 * row, sizeof half);
    out.scales.scale = half;
    for (int i = 0; i < scales_; ++i) {
      unsigned stored = 0;
      for (int b = 0; b < form_.scale_bits; ++b)
        stored |= unsigned{has_bit(sub_scales_, scale_bit(form_, scales_, i, row, b))} << b;
      out.scales.sub_scales[i] = static_cast<std::int8_t>(2 * stored + 1);
    }
    for (int g = 0; g < kGridGroups; ++g) {
      const std::byte* group = groups_ + static_cast<std::size_t>(g) * compact_group_bytes(form_);
      read_indices(group, g, row, out);
      read_signs(group + compact_index_bytes(form_), g, row, out);
    }
  }

 private:
  void read_indices(const std::byte* group, int g, int row, quant::GridBlock& out) const noexcept {
    const int n = kGroup / form_.row_values;
    for (int i = 0; i < n; ++i) {
      const int at = compact_index(form_, i, row);
      auto index = std::to_integer<unsigned>(group[at]);
      for (int b = 8; b < form_.index_bits; ++b) index |= unsigned{has_bit(group, high_bit(form_, at, b))} << b;
      out.rows[g * n + i] = static_cast<std::uint16_t>(index);
    }
  }
  void read_signs(const std::byte* at, int g, int row, quant::GridBlock& out) const noexcept {
    std::uint64_t quads[8] = {}, words[7];
    if (form_.signs == GridSigns::kEight) std::memcpy(quads, at, sizeof quads);
    if (form_.signs == GridSigns::kSeven) {
      std::memcpy(words, at, sizeof words);
      load_sign_words(words, quads);
    }
    for (int c = 0; c < 4; ++c) {
      std::uint64_t signs = (quads[2 * c] >> (4 * row) & 15u) | (quads[2 * c + 1] >> (4 * row) & 15u) << 4;
      if (form_.signs == GridSigns::kOfCell) signs = has_bit(at, static_cast<std::size_t>(16 * c + row)) ? 255u : 0u;
      if (form_.signs == GridSigns::kOfGroup) signs = has_bit(at, static_cast<std::size_t>(row)) ? 255u : 0u;
      out.signs[g * 4 + c] = static_cast<std::uint8_t>(signs);
    }
  }

  GridForm form_;
  int scales_;
  const std::byte *block_, *sub_scales_, *groups_;
};

}  // namespace

void pack_compact(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k,
                  std::byte* panel) {
  const quant::Grid& grid = *quant::find_grid(format);
  const std::size_t row_bytes = format.row_bytes(k), block_bytes = static_cast<std::size_t>(format.block_bytes);
  std::memset(panel, 0, kPanelRows * row_bytes);
  for (std::size_t at = 0; at < row_bytes; at += block_bytes) {
    BlockOfRows blocks{};  // of which missing rows have scale 0
    for (int r = 0; r < kPanelRows; ++r) {
      if (r < n_rows)
        grid.read(rows + static_cast<std::size_t>(r) * row_bytes + at, blocks[static_cast<std::size_t>(r)]);
      const auto half = static_cast<std::uint16_t>(blocks[static_cast<std::size_t>(r)].scales.scale);
      std::memcpy(panel + 2 * r, &half, sizeof half);
    }
    panel += 2 * kPanelRows;
    pack_scales(grid.form, static_cast<int>(kGridBlock) / format.affine.scale_group, blocks, panel);
    panel += compact_scale_bytes(grid.form, format.affine.scale_group);
    for (int g = 0; g < kGridGroups; ++g, panel += compact_group_bytes(grid.form)) {
      pack_indices(grid.form, blocks, g, panel);
      pack_signs(grid.form, blocks, g, panel + compact_index_bytes(grid.form));
    }
  }
}

void unpack_compact_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out) {
  const quant::Grid& grid = *quant::find_grid(format);
  const std::size_t block_bytes = static_cast<std::size_t>(kPanelRows * format.block_bytes);
  quant::GridBlock block;
  for (std::int64_t at = 0; at < k; at += kGridBlock, panel += block_bytes) {
    PackedBlock(grid.form, format.affine.scale_group, panel).read(row, block);
    for (int i = 0; i < kGridBlock; ++i) {
      out[at + i] = format.affine.scale(block.scales, i / format.affine.scale_group) *
                    static_cast<float>(quant::grid_level(grid, block, i));
    }
  }
}

std::size_t expanded_panel_bytes(const quant::QuantFormat& format, std::int64_t k) {
  const quant::AffineForm& form = format.affine;
  const std::size_t group = sub_scale_bytes(form) + kPanelRows * kGroup;
  return (header_bytes(form) + group * kGridGroups) * static_cast<std::size_t>(k / kGridBlock);
}

}  // namespace millrace::backend::cpu
