#include "model/weights/integer_matrix.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

namespace millrace::model {
namespace {

using checkpoint::RawTensor;

// Of a row.
std::int64_t groups_of(const StoredTensors& tensors, const IntegerTensors& stored) {
  const Shape& shape = stored.scales->shape;
  if (shape.elements() == 1) return 1;
  const bool fits = shape.rank() >= 1 && shape.rank() <= 2 && shape[0] == stored.rows;
  const std::int64_t groups = fits ? shape.elements() / stored.rows : 0;
  if (groups > 0 && stored.cols % groups == 0) return groups;
  tensors.fail(stored.scales->name,
               fmt::format("shape {}: expected [{}, groups] with {} columns in groups of equal size", shape.to_string(),
                           stored.rows, stored.cols));
}

std::vector<std::uint32_t> scale_bits(const StoredTensors& tensors, const IntegerTensors& stored, std::int64_t groups) {
  const bool one = stored.scales->shape.elements() == 1;
  std::vector<std::uint32_t> bits = number_bits(tensors, *stored.scales, one ? 1 : stored.rows, groups, false);
  if (one) bits.resize(static_cast<std::size_t>(stored.rows), bits.front());
  if (stored.scale_factor != 1.0f) {
    for (std::uint32_t& scale : bits) {
      scale = std::bit_cast<std::uint32_t>(std::bit_cast<float>(scale) * stored.scale_factor);
    }
  }
  return bits;
}

std::vector<std::uint8_t> zeros_of(const StoredTensors& tensors, const IntegerTensors& stored, std::int64_t groups) {
  const std::vector<std::byte> raw = tensors.bytes(*stored.zero_points);
  std::vector<std::uint8_t> zeros;
  if (!stored.packed_zeros) {
    const bool one = raw.size() == 1;
    for (std::int64_t i = 0; i < stored.rows * groups; ++i) {
      const auto value = std::to_integer<std::int8_t>(raw[one ? 0 : static_cast<std::size_t>(i)]);
      zeros.push_back(static_cast<std::uint8_t>(value + (1 << (stored.order.bits - 1))));
    }
    return zeros;
  }
  const auto lines = static_cast<std::size_t>(stored.zero_points->shape[0]);
  std::vector<std::uint32_t> stream(lines);
  zeros.resize(static_cast<std::size_t>(stored.rows * groups));
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::size_t i = 0; i < lines; ++i) {
      std::memcpy(&stream[i], raw.data() + 4 * (i * static_cast<std::size_t>(groups) + static_cast<std::size_t>(g)), 4);
    }
    const int bits = stored.order.bits, of_word = 32 / bits;
    for (std::int64_t r = 0; r < stored.rows; ++r) {
      const std::uint32_t field =
          stored.order.whole_words
              ? stream[static_cast<std::size_t>(r / of_word)] >> (r % of_word * bits) & ((1u << bits) - 1u)
              : stream_field(stream.data(), r, bits);
      zeros[static_cast<std::size_t>(r * groups + g)] = static_cast<std::uint8_t>(field);
    }
  }
  return zeros;
}

// The columns by group, and the group of each block of columns.
void sort_columns(const StoredTensors& tensors, const RawTensor& group_of, GroupMatrix& matrix) {
  const std::vector<std::int64_t> groups = tensors.integers(group_of);
  std::vector<std::int64_t> members(static_cast<std::size_t>(matrix.groups));
  for (const std::int64_t g : groups) {
    if (g < 0 || g >= matrix.groups) {
      tensors.fail(group_of.name, fmt::format("group {} of {} does not exist", g, matrix.groups));
    }
    ++members[static_cast<std::size_t>(g)];
  }
  std::int64_t columns = 0;
  for (const std::int64_t n : members) columns = std::gcd(columns, n);
  matrix.spec.values = block_of_groups(columns);
  order_by_group(matrix, groups);
}

void check_zeros(const StoredTensors& tensors, const IntegerTensors& stored, std::int64_t groups) {
  const RawTensor& zeros = *stored.zero_points;
  const std::int64_t bits = stored.order.bits, of_word = 32 / bits;
  const std::int64_t lines =
      stored.order.whole_words ? (stored.rows + of_word - 1) / of_word : (stored.rows * bits + 31) / 32;
  const Shape expected{stored.packed_zeros ? lines : stored.rows, groups};
  const bool one = !stored.packed_zeros && zeros.shape.elements() == 1 && groups == 1;
  if (one || zeros.shape == expected || (groups == 1 && zeros.shape == Shape{expected[0]})) return;
  tensors.fail(zeros.name, fmt::format("shape {}: expected {}", zeros.shape.to_string(), expected.to_string()));
}

}  // namespace

OpenedMatrix open_integers(const StoredTensors& tensors, const IntegerTensors& stored) {
  const std::int64_t groups = groups_of(tensors, stored);
  GroupMatrix matrix{.rows = stored.rows,
                     .cols = stored.cols,
                     .groups = groups,
                     .scale_rows = stored.scales->shape.elements() == 1 ? stored.rows : 0,
                     .spec = {.bits = stored.order.bits, .number = number_type(*stored.scales)},
                     .order = {},
                     .group_of_block = {},
                     .codes = codes_by_row(tensors, *stored.codes, Shape{stored.rows, stored.cols}, stored.order),
                     .numbers = {},
                     .scales_name = stored.scales->name,
                     .int8_activations = stored.int8_activations,
                     .tensors = {stored.codes, stored.scales},
                     .by_row = {},
                     .groups_first = false};
  if (stored.scales->shape.elements() > 1) matrix.by_row.push_back(stored.scales);
  if (stored.minima != nullptr) {
    if (dtype_of(*stored.minima) != dtype_of(*stored.scales) || stored.minima->shape != stored.scales->shape) {
      tensors.fail(stored.minima->name, fmt::format("{} {}; expected {} {}, as {}", dtype_of(*stored.minima),
                                                    stored.minima->shape.to_string(), dtype_of(*stored.scales),
                                                    stored.scales->shape.to_string(), stored.scales->name));
    }
    matrix.spec.offset = quant::GroupOffset::kMinimum;
    matrix.tensors.push_back(stored.minima);
    if (stored.scales->shape.elements() > 1) matrix.by_row.push_back(stored.minima);
  }
  if (stored.zero_points != nullptr) {
    check_zeros(tensors, stored, groups);
    matrix.spec.offset = quant::GroupOffset::kZeroPoint;
    matrix.tensors.push_back(stored.zero_points);
  }
  if (stored.group_of != nullptr) {
    static_cast<void>(tensors.require(stored.group_of->name, {"I32"}, Shape{stored.cols}));
    matrix.tensors.push_back(stored.group_of);
    sort_columns(tensors, *stored.group_of, matrix);
  } else {
    matrix.spec.values = block_of_groups(stored.cols / groups);
  }
  if (stored.order.bits == 7) {
    matrix.spec.bits = 8;
    matrix.stored_bits = 7;
    if (matrix.spec.offset == quant::GroupOffset::kNone) matrix.added = 64;
  }
  matrix.tensors.insert(matrix.tensors.end(), stored.others.begin(), stored.others.end());
  matrix.numbers = [tensors, stored, groups] {
    GroupNumbers numbers{.scales = scale_bits(tensors, stored, groups)};
    if (stored.minima != nullptr) numbers.minima = number_bits(tensors, *stored.minima, stored.rows, groups, false);
    if (stored.zero_points != nullptr) numbers.zero_points = zeros_of(tensors, stored, groups);
    return numbers;
  };
  return {stored.rows, stored.cols, group_weight(tensors, std::move(matrix))};
}

}  // namespace millrace::model
