#include "model/weights/gptq_weight.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "tensor/dtype.h"

namespace millrace::model {

GptqWeight::GptqWeight(const GptqTensors& stored, const GptqRules& rules)
    : stored_(stored), zeros_(read_zero_points(stored, rules)) {
  tensors = stored_.all();
  const std::vector<std::uint32_t> groups = read_groups(stored_, rules);
  format = gptq_format(stored_, zeros_, groups);
  flipped_bits_ = format->name == "q8_0" ? 0x80 : 0;
  sort_columns(groups);
  read_scales();
}

// So that those of a group lie together.
void GptqWeight::sort_columns(const std::vector<std::uint32_t>& group) {
  std::vector<std::int32_t> order(group.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t c) { return group[static_cast<std::size_t>(c)]; });
  for (std::size_t at = 0; at < order.size(); at += static_cast<std::size_t>(format->block_values)) {
    group_of_block_.push_back(static_cast<std::int32_t>(group[static_cast<std::size_t>(order[at])]));
  }
  if (!std::ranges::is_sorted(group)) columns = std::move(order);
}

// Kernels take scales of f16, which the files have; others are taken where they lose nothing.
void GptqWeight::read_scales() {
  const checkpoint::RawTensor& scales = *stored_.scales;
  std::vector<std::byte> raw(scales.bytes);
  stored_.checkpoint.read(scales, 0, raw).or_throw();
  std::vector<float> values(static_cast<std::size_t>(stored_.groups * stored_.rows));
  scales.format->unpack(raw.data(), values);
  for (const float value : values) {
    scale_bits_.push_back(f32_to_f16(value));
    if (f16_to_f32(scale_bits_.back()) != value) {
      stored_.fail(scales.name, fmt::format("{} cannot be kept as f16", value));
    }
  }
}

void GptqWeight::load_codes() const {
  std::call_once(loaded_, [&] { words_ = stored_.read_words(*stored_.codes); });
}

// The codes of one column for some rows: out[r][at]. Codes of 2 and 3 bits are moved to where the middle is that of 4.
void GptqWeight::unpack_column(std::int64_t column, std::int64_t first, std::size_t at,
                               std::span<Codes> out) const noexcept {
  const int bits = stored_.bits, moved = bits < 4 ? 8 - (1 << (bits - 1)) : 0;
  const std::uint32_t mask = (1u << bits) - 1u;
  const std::int64_t bit = column * bits;
  const int shift = static_cast<int>(bit % kGptqWordBits);
  const std::uint32_t* low = words_.data() + bit / kGptqWordBits * stored_.rows + first;
  const bool crosses = shift + bits > kGptqWordBits;
  for (std::size_t r = 0; r < out.size(); ++r) {
    std::uint32_t code = low[r] >> shift;
    if (crosses) code |= low[r + static_cast<std::size_t>(stored_.rows)] << (kGptqWordBits - shift);
    out[r][at] = static_cast<std::uint8_t>((code & mask) + static_cast<std::uint32_t>(moved));
  }
}

void GptqWeight::read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const {
  load_codes();
  const std::size_t row_bytes = format->row_bytes(stored_.cols);
  std::vector<Codes> codes(static_cast<std::size_t>(count));
  for (std::int64_t at = 0; at < stored_.cols; at += kRun) {
    for (std::int64_t j = at; j < at + kRun; ++j) {
      const std::int64_t column = columns.empty() ? j : columns[static_cast<std::size_t>(j)];
      unpack_column(column, first, static_cast<std::size_t>(j - at), codes);
    }
    for (std::int64_t r = 0; r < count; ++r) {
      const auto row = static_cast<std::size_t>(r);
      write_run(at, first + r, codes[row], out.data() + row * row_bytes);
    }
  }
}

// The codes of columns [at, at + kRun) of a row, and what comes before them where a block begins.
void GptqWeight::write_run(std::int64_t at, std::int64_t row, const Codes& codes, std::byte* out) const noexcept {
  const std::int64_t block = at / format->block_values, in_block = at % format->block_values;
  const bool has_zeros = !zeros_.beside_middle.empty();
  const std::size_t head = has_zeros ? 3 : 2;
  out += block * format->block_bytes;
  if (in_block == 0) {
    const auto value = static_cast<std::size_t>(group_of_block_[static_cast<std::size_t>(block)] * stored_.rows + row);
    std::memcpy(out, &scale_bits_[value], 2);
    if (has_zeros) out[2] = static_cast<std::byte>(zeros_.beside_middle[value]);
  }
  const bool small = stored_.bits <= 4;
  out += head + static_cast<std::size_t>(small ? in_block / 2 : in_block);
  for (std::size_t i = 0; small && i < kRun / 2; ++i) {
    out[i] = static_cast<std::byte>(codes[i] | codes[i + kRun / 2] << 4);
  }
  for (std::size_t i = 0; !small && i < kRun; ++i) out[i] = static_cast<std::byte>(codes[i] ^ flipped_bits_);
}

std::vector<TensorRange> GptqWeight::ranges(std::int64_t first, std::int64_t count) const {
  const auto bytes = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const int bits = stored_.bits;
  const std::int64_t first_word = first * bits / kGptqWordBits;
  const std::int64_t last_word = ((first + count) * bits + kGptqWordBits - 1) / kGptqWordBits;
  const std::int64_t line = stored_.zeros->shape[1], width = stored_.scales->format->block_bytes;
  std::vector<TensorRange> all = {
      {stored_.codes, bytes(first * 4), bytes(count * 4), bytes(stored_.codes->shape[0]), bytes(stored_.rows * 4)},
      {stored_.zeros, bytes(first_word * 4), bytes((last_word - first_word) * 4), bytes(stored_.groups),
       bytes(line * 4)},
      {stored_.scales, bytes(first * width), bytes(count * width), bytes(stored_.groups), bytes(stored_.rows * width)}};
  if (stored_.group_of != nullptr) all.push_back({stored_.group_of, 0, stored_.group_of->bytes});
  return all;
}

}  // namespace millrace::model
