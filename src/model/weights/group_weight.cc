#include "model/weights/group_weight.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace millrace::model {
namespace {

using checkpoint::RawTensor;

constexpr std::int64_t kLargestBlock = 1 << 20;

// What unpacking the format of the spec gives.
void store_values(const quant::GroupSpec& spec, const quant::GroupHeader& header, std::span<const std::uint8_t> codes,
                  std::byte* to) {
  const float scale = quant::stored_number(spec.number, header.scale);
  const float minimum = quant::stored_number(spec.number, header.minimum);
  const int zero = spec.offset == quant::GroupOffset::kZeroPoint ? header.zero_point : 1 << (spec.bits - 1);
  for (const std::uint8_t code : codes) {
    float value = scale;
    if (spec.codes == quant::GroupCodes::kE4m3) {
      value *= e4m3_to_f32(code);
    } else if (spec.codes != quant::GroupCodes::kInteger) {
      value *= quant::group_levels(spec.codes)[code];
    } else if (spec.offset == quant::GroupOffset::kMinimum) {
      value = value * static_cast<float>(code) + minimum;
    } else {
      value *= static_cast<float>(code - zero);
    }
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  }
}

std::string code_name(const GroupMatrix& matrix) {
  switch (matrix.spec.codes) {
    case quant::GroupCodes::kNf4: return "nf4";
    case quant::GroupCodes::kFp4: return "fp4";
    case quant::GroupCodes::kE4m3: return "fp8";
    case quant::GroupCodes::kInteger: break;
  }
  return fmt::format("{}-bit", matrix.stored_bits > 0 ? matrix.stored_bits : matrix.spec.bits);
}

// "4-bit, groups of 128". A group that is a short row may be either: it counts as a group.
std::string describe(const GroupMatrix& matrix) {
  constexpr std::int64_t kLargestGroup = 256;
  const std::int64_t rows = std::max<std::int64_t>(1, matrix.scale_rows);
  const std::int64_t cols = matrix.scale_cols > 0 ? matrix.scale_cols : matrix.cols / matrix.groups;
  const bool whole_row = cols >= matrix.cols && (matrix.scale_rows == 1 || cols > kLargestGroup);
  const std::string scales = rows == matrix.rows && cols == matrix.cols ? "one scale"
                             : rows > 1                                 ? fmt::format("blocks of {}x{}", rows, cols)
                             : whole_row                                ? "a scale a row"
                                                                        : fmt::format("groups of {}", cols);
  return fmt::format("{}, {}", code_name(matrix), scales);
}

class GroupWeight final : public StoredWeight {
 public:
  GroupWeight(const StoredTensors& stored, GroupMatrix matrix) : stored_(stored), matrix_(std::move(matrix)) {
    format = as_int8_rows() ? quant::find_format("int8_row") : quant::find_group_format(matrix_.spec);
    as_values_ = format == nullptr;
    if (as_values_) format = quant::find_format("f32");
    coding = {describe(matrix_), as_values_};
    columns = matrix_.order;
    tensors = matrix_.tensors;
  }
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const override {
    std::call_once(loaded_, [&] { numbers_ = matrix_.numbers(); });
    const auto cols = static_cast<std::size_t>(matrix_.cols), block = static_cast<std::size_t>(matrix_.spec.values);
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(count) * cols), sorted(columns.size());
    matrix_.codes->read(first, count, codes.data());
    if (matrix_.added != 0) {
      for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(code + matrix_.added);
    }
    const std::size_t block_bytes = as_values_ ? block * sizeof(float) : static_cast<std::size_t>(format->block_bytes);
    std::byte* to = out.data();
    for (std::int64_t r = 0; r < count; ++r) {
      const std::uint8_t* row = codes.data() + static_cast<std::size_t>(r) * cols;
      for (std::size_t j = 0; j < columns.size(); ++j) sorted[j] = row[columns[j]];
      if (!columns.empty()) row = sorted.data();
      for (std::size_t b = 0; b < cols / block; ++b, to += block_bytes) {
        const quant::GroupHeader header = header_of(first + r, b);
        check(header, first + r, b, {row + b * block, block});
        if (as_values_) {
          store_values(matrix_.spec, header, {row + b * block, block}, to);
        } else {
          quant::store_group(matrix_.spec, header, row + b * block, to);
        }
      }
    }
  }
  std::vector<TensorRange> ranges(std::int64_t first, std::int64_t count) const override {
    std::vector<TensorRange> all = {matrix_.codes->range(first, count)};
    for (std::size_t i = 1; i < tensors.size(); ++i) {
      const RawTensor& tensor = *tensors[i];
      const bool by_row = std::ranges::find(matrix_.by_row, &tensor) != matrix_.by_row.end();
      if (!by_row) {
        all.push_back({&tensor, 0, tensor.bytes});
      } else {
        all.push_back(matrix_.groups_first ? range_of_columns(tensor, first, count)
                                           : range_of_rows(tensor, first, count));
      }
    }
    return all;
  }

 private:
  // int8_row is laid out as groups of 32 with an f32.
  bool as_int8_rows() {
    constexpr int kValues = 32;
    quant::GroupSpec& spec = matrix_.spec;
    scales_type_ = spec.number;
    if (!matrix_.int8_activations || spec.bits != 8 || spec.offset != quant::GroupOffset::kNone ||
        spec.codes != quant::GroupCodes::kInteger || matrix_.groups != 1 || matrix_.cols % kValues != 0) {
      return false;
    }
    spec.values = kValues;
    spec.number = DType::kF32;
    return true;
  }
  std::size_t group_of(std::size_t block) const noexcept {
    if (!matrix_.group_of_block.empty()) return static_cast<std::size_t>(matrix_.group_of_block[block]);
    return block * static_cast<std::size_t>(matrix_.groups) * static_cast<std::size_t>(matrix_.spec.values) /
           static_cast<std::size_t>(matrix_.cols);
  }
  quant::GroupHeader header_of(std::int64_t row, std::size_t block) const noexcept {
    const std::size_t at = static_cast<std::size_t>(row * matrix_.groups) + group_of(block);
    quant::GroupHeader header{.scale = numbers_.scales[at]};
    if (format->row_scaled)
      header.scale = std::bit_cast<std::uint32_t>(quant::stored_number(scales_type_, header.scale));
    if (!numbers_.minima.empty()) header.minimum = numbers_.minima[at];
    if (!numbers_.zero_points.empty()) header.zero_point = numbers_.zero_points[at];
    return header;
  }
  void check(const quant::GroupHeader& header, std::int64_t row, std::size_t block,
             std::span<const std::uint8_t> codes) const {
    const quant::GroupSpec& spec = matrix_.spec;
    if (spec.codes == quant::GroupCodes::kE4m3) check_floats(row, codes);
    const bool levels = spec.codes == quant::GroupCodes::kNf4 || spec.codes == quant::GroupCodes::kFp4;
    if (levels || quant::stored_number(spec.number, header.scale) != 0.0f) return;
    if (spec.codes == quant::GroupCodes::kE4m3) return check_zero(row, block, codes, 0, 0x7f);
    const int zero = spec.offset == quant::GroupOffset::kNone        ? 1 << (spec.bits - 1)
                     : spec.offset == quant::GroupOffset::kZeroPoint ? header.zero_point
                                                                     : 0;
    check_zero(row, block, codes, zero, 0xff);
  }
  // Of a group whose scale is 0.
  void check_zero(std::int64_t row, std::size_t block, std::span<const std::uint8_t> codes, int zero, int mask) const {
    const auto other = std::ranges::find_if(codes, [&](std::uint8_t code) { return (code & mask) != zero; });
    if (other == codes.end()) return;
    stored_.fail(matrix_.scales_name, fmt::format("the scale of row {}, group {} is 0, but a code of it is {}, not {}",
                                                  row, group_of(block), *other, zero));
  }
  void check_floats(std::int64_t row, std::span<const std::uint8_t> codes) const {
    const auto nan = std::ranges::find_if(codes, [](std::uint8_t code) { return (code & 0x7f) == 0x7f; });
    if (nan != codes.end())
      stored_.fail(tensors.front()->name, fmt::format("a number of row {} is NaN ({:#04x})", row, *nan));
  }

  StoredTensors stored_;
  GroupMatrix matrix_;
  bool as_values_ = false;           // in f32
  DType scales_type_ = DType::kF32;  // as stored
  mutable std::once_flag loaded_;
  mutable GroupNumbers numbers_;
};

}  // namespace

std::unique_ptr<StoredWeight> group_weight(const StoredTensors& tensors, GroupMatrix matrix) {
  return std::make_unique<GroupWeight>(tensors, std::move(matrix));
}

int block_of_groups(std::int64_t columns) noexcept {
  const int block = quant::largest_group(columns);
  if (block > 0) return block;
  return columns <= kLargestBlock ? static_cast<int>(columns) : 1;
}

DType number_type(const RawTensor& tensor) noexcept {
  const std::string_view dtype = dtype_of(tensor);
  return dtype == "F32" ? DType::kF32 : dtype == "BF16" ? DType::kBF16 : DType::kF16;
}

std::vector<std::uint32_t> number_bits(const StoredTensors& tensors, const RawTensor& tensor, std::int64_t rows,
                                       std::int64_t groups, bool groups_first) {
  const std::vector<std::byte> raw = tensors.bytes(tensor);
  const DType type = number_type(tensor);
  const std::size_t width = size_of(type);
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(rows * groups));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const auto from = static_cast<std::size_t>(groups_first ? g * rows + r : r * groups + g);
      std::uint32_t& value = bits[static_cast<std::size_t>(r * groups + g)];
      std::memcpy(&value, raw.data() + from * width, width);
      if (const float number = quant::stored_number(type, value); !std::isfinite(number)) {
        tensors.fail(tensor.name, fmt::format("the number of row {}, group {} is {}", r, g, number));
      }
    }
  }
  return bits;
}

void order_by_group(GroupMatrix& matrix, const std::vector<std::int64_t>& groups) {
  std::vector<std::int32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t c) { return groups[static_cast<std::size_t>(c)]; });
  for (std::size_t at = 0; at < order.size(); at += static_cast<std::size_t>(matrix.spec.values)) {
    matrix.group_of_block.push_back(static_cast<std::int32_t>(groups[static_cast<std::size_t>(order[at])]));
  }
  if (!std::ranges::is_sorted(groups)) matrix.order = std::move(order);
}

}  // namespace millrace::model
