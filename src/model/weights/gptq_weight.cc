#include "model/weights/gptq_weight.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "tensor/dtype.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RawTensor;

constexpr std::int64_t kBlock = 32;  // columns of a block as delivered
constexpr std::int64_t kWordBits = 32;

constexpr std::uint32_t field(std::uint32_t word, std::int64_t index, int bits) noexcept {
  return word >> (index % (kWordBits / bits) * bits) & ((1u << bits) - 1u);
}

}  // namespace

GptqWeight::GptqWeight(const Checkpoint& checkpoint, const std::string& stem, std::int64_t rows, std::int64_t cols,
                       const GptqRules& rules)
    : checkpoint_(checkpoint), rows_(rows), cols_(cols) {
  const std::string name = stem + ".qweight";
  const RawTensor& stored = *checkpoint_.find_integers(name);
  for (const int bits : {4, 8}) {
    if (stored.shape == Shape{cols * bits / kWordBits, rows}) bits_ = bits;
  }
  if (bits_ == 0 || cols % kBlock != 0) {
    fail(name, fmt::format("shape {}: expected {} or {} for a matrix [{}, {}] of 4 or 8 bits", stored.shape.to_string(),
                           Shape{cols / 8, rows}.to_string(), Shape{cols / 4, rows}.to_string(), rows, cols));
  }
  codes_ = &words(name, stored.shape);
  const RawTensor* scales = checkpoint_.find(stem + ".scales");
  if (scales == nullptr || scales->shape.rank() != 2 || scales->shape[1] != rows || rows * bits_ % kWordBits != 0) {
    fail(stem + ".scales", fmt::format("expected a tensor [groups, {}]", rows));
  }
  groups_ = scales->shape[0];
  zeros_ = &words(stem + ".qzeros", Shape{groups_, rows * bits_ / kWordBits});
  scales_ = scales;
  tensors.push_back(scales_);
  read_groups(stem, rules);
  read_scales(stem);
  read_zero_points(rules);
  const std::string_view kind = zero_points_.empty() ? (bits_ == 4 ? "q4_0" : "q8_0") : (bits_ == 4 ? "q4_z" : "q8_z");
  format = quant::find_format(kind);
}

void GptqWeight::fail(const std::string& tensor, const std::string& what) const {
  throw_load_error(ErrorCode::kBadFile, tensor, "{}: tensor '{}': {}", checkpoint_.path, tensor, what);
}

const RawTensor& GptqWeight::words(const std::string& name, const Shape& shape) {
  const RawTensor* tensor = checkpoint_.find_integers(name);
  if (tensor == nullptr) fail(name, "missing; expected int32 " + shape.to_string());
  if (tensor->shape != shape || tensor->bytes != static_cast<std::uint64_t>(shape.elements()) * 4) {
    fail(name,
         fmt::format("{} of {} bytes; expected int32 {}", tensor->shape.to_string(), tensor->bytes, shape.to_string()));
  }
  tensors.push_back(tensor);
  return *tensor;
}

std::vector<std::uint32_t> GptqWeight::read_words(const RawTensor& tensor) const {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(tensor.bytes / 4));
  checkpoint_.read(tensor, 0, std::as_writable_bytes(std::span(words))).or_throw();
  return words;
}

// Sorts the columns so that those of a group lie together.
void GptqWeight::read_groups(const std::string& stem, const GptqRules& rules) {
  const std::string name = stem + ".g_idx";
  std::vector<std::uint32_t> group(static_cast<std::size_t>(cols_));
  if (checkpoint_.find_integers(name) != nullptr) {
    group_of_ = &words(name, Shape{cols_});
    group = read_words(*group_of_);
  } else if (rules.ordered || cols_ % groups_ != 0) {
    fail(name, "missing: the order of the columns is not known");
  } else {
    for (std::size_t i = 0; i < group.size(); ++i) {
      group[i] = static_cast<std::uint32_t>(static_cast<std::int64_t>(i) / (cols_ / groups_));
    }
  }
  std::vector<std::int64_t> members(static_cast<std::size_t>(groups_));
  for (const std::uint32_t g : group) {
    if (g >= static_cast<std::uint64_t>(groups_)) fail(name, fmt::format("group {} of {} does not exist", g, groups_));
    ++members[g];
  }
  for (std::size_t g = 0; g < members.size(); ++g) {
    if (members[g] % kBlock != 0) {
      throw_load_error(ErrorCode::kUnsupported, name,
                       "{}: tensor '{}': group {} has {} columns; only multiples of {} are supported", checkpoint_.path,
                       name, g, members[g], kBlock);
    }
    group_of_block_.insert(group_of_block_.end(), static_cast<std::size_t>(members[g] / kBlock),
                           static_cast<std::int32_t>(g));
  }
  if (std::ranges::is_sorted(group)) return;
  columns.resize(group.size());
  std::iota(columns.begin(), columns.end(), 0);
  std::ranges::stable_sort(columns, {}, [&](std::int32_t c) { return group[static_cast<std::size_t>(c)]; });
}

// Kernels take scales of f16, which the files have; others are taken where they lose nothing.
void GptqWeight::read_scales(const std::string& stem) {
  std::vector<std::byte> raw(scales_->bytes);
  checkpoint_.read(*scales_, 0, raw).or_throw();
  std::vector<float> values(static_cast<std::size_t>(groups_ * rows_));
  scales_->format->unpack(raw.data(), values);
  for (const float value : values) {
    scale_bits_.push_back(f32_to_f16(value));
    if (f16_to_f32(scale_bits_.back()) != value) {
      fail(stem + ".scales", fmt::format("{} cannot be kept as f16", value));
    }
  }
}

void GptqWeight::read_zero_points(const GptqRules& rules) {
  const std::vector<std::uint32_t> stored = read_words(*zeros_);
  const int middle = 1 << (bits_ - 1);
  std::vector<int> values;
  values.reserve(static_cast<std::size_t>(groups_ * rows_));
  for (std::int64_t g = 0; g < groups_; ++g) {
    for (std::int64_t r = 0; r < rows_; ++r) {
      const std::int64_t word = (g * rows_ + r) * bits_ / kWordBits;
      values.push_back(static_cast<int>(field(stored[static_cast<std::size_t>(word)], r, bits_)));
    }
  }
  const auto all_are = [&](int value) { return std::ranges::all_of(values, [=](int v) { return v == value; }); };
  int added = rules.zeros_less_one ? 1 : 0;
  if (rules.symmetric && added == 1 && all_are(middle)) {
    zeros_contradict = true;
    added = 0;
  }
  if (all_are(middle - added)) return;
  for (const int value : values) {
    const int beside = value + added - middle;
    if (beside > INT8_MAX) fail(zeros_->name, fmt::format("a zero point of {} is not supported", value + added));
    zero_points_.push_back(static_cast<std::int8_t>(beside));
  }
}

void GptqWeight::load_codes() const {
  std::call_once(loaded_, [&] { words_ = read_words(*codes_); });
}

void GptqWeight::read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const {
  load_codes();
  const auto block_bytes = static_cast<std::size_t>(format->block_bytes);
  const std::size_t row_bytes = format->row_bytes(cols_), head = zero_points_.empty() ? 2 : 3;
  std::vector<std::array<std::uint8_t, kBlock>> codes(static_cast<std::size_t>(count));
  for (std::int64_t b = 0; b < cols_ / kBlock; ++b) {
    for (std::int64_t j = 0; j < kBlock; ++j) {
      const std::int64_t at = b * kBlock + j;
      const std::int64_t column = columns.empty() ? at : columns[static_cast<std::size_t>(at)];
      const std::uint32_t* line = words_.data() + column * bits_ / kWordBits * rows_ + first;
      for (std::int64_t r = 0; r < count; ++r) {
        codes[static_cast<std::size_t>(r)][static_cast<std::size_t>(j)] =
            static_cast<std::uint8_t>(field(line[r], column, bits_));
      }
    }
    const std::int64_t group_row = group_of_block_[static_cast<std::size_t>(b)] * rows_ + first;
    for (std::int64_t r = 0; r < count; ++r) {
      const auto at = static_cast<std::size_t>(group_row + r);
      const auto& code = codes[static_cast<std::size_t>(r)];
      std::byte* block =
          out.data() + static_cast<std::size_t>(r) * row_bytes + static_cast<std::size_t>(b) * block_bytes;
      std::memcpy(block, &scale_bits_[at], 2);
      if (head == 3) block[2] = static_cast<std::byte>(zero_points_[at]);
      for (std::size_t i = 0; i < kBlock; ++i) {
        if (bits_ == 4 && i < 16) block[head + i] = static_cast<std::byte>(code[i] | code[i + 16] << 4);
        // q8_0 keeps signed bytes, q8_z codes as they are.
        if (bits_ == 8) block[head + i] = static_cast<std::byte>(head == 2 ? code[i] ^ 0x80 : code[i]);
      }
    }
  }
}

std::vector<TensorRange> GptqWeight::ranges(std::int64_t first, std::int64_t count) const {
  const auto bytes = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const std::int64_t first_word = first * bits_ / kWordBits;
  const std::int64_t last_word = ((first + count) * bits_ + kWordBits - 1) / kWordBits;
  const std::int64_t width = scales_->format->block_bytes;
  std::vector<TensorRange> all = {
      {codes_, bytes(first * 4), bytes(count * 4), bytes(cols_ * bits_ / kWordBits), bytes(rows_ * 4)},
      {zeros_, bytes(first_word * 4), bytes((last_word - first_word) * 4), bytes(groups_), bytes(rows_ * bits_ / 8)},
      {scales_, bytes(first * width), bytes(count * width), bytes(groups_), bytes(rows_ * width)}};
  if (group_of_ != nullptr) all.push_back({group_of_, 0, group_of_->bytes});
  return all;
}

}  // namespace millrace::model
