#include "model/weights/awq_reader.h"

#include <cstring>
#include <utility>

#include "model/weights/group_weight.h"

namespace millrace::model {
namespace {

using checkpoint::RawTensor;

constexpr std::string_view kAwqCodes = ".qweight";
constexpr std::string_view kWords[] = {"I32"};
constexpr std::int64_t kLanes = 8, kLargestGroupSize = 1 << 30;

std::vector<std::uint32_t> words_in(const StoredTensors& tensors, const RawTensor& tensor) {
  const std::vector<std::byte> raw = tensors.bytes(tensor);
  std::vector<std::uint32_t> words(raw.size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), raw.data(), raw.size());
  return words;
}

GroupNumbers gemm_numbers(const StoredTensors& tensors, const AwqTensors& from, std::int64_t rows,
                          std::int64_t groups) {
  GroupNumbers numbers{.scales = number_bits(tensors, *from.scales, rows, groups, true)};
  const std::vector<std::uint32_t> words = words_in(tensors, *from.zeros);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::uint32_t word = words[static_cast<std::size_t>(g * (rows / kLanes) + r / kLanes)];
      numbers.zero_points.push_back(static_cast<std::uint8_t>(word >> awq_shift(r % kLanes) & 15));
    }
  }
  return numbers;
}

GroupNumbers gemv_numbers(const StoredTensors& tensors, const AwqTensors& from, std::int64_t rows,
                          std::int64_t groups) {
  const std::int64_t words_of_row = from.zeros->shape[1], stored_groups = words_of_row * kLanes;
  const std::vector<std::uint32_t> words = words_in(tensors, *from.zeros);
  const std::vector<std::uint32_t> padded = number_bits(tensors, *from.scales, rows, stored_groups, false);
  GroupNumbers numbers;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t g = 0; g < groups; ++g) {
      numbers.scales.push_back(padded[static_cast<std::size_t>(r * stored_groups + g)]);
      numbers.zero_points.push_back(static_cast<std::uint8_t>(stream_field(words.data() + r * words_of_row, g, 4)));
    }
  }
  return numbers;
}

void check_shape(const StoredTensors& tensors, const RawTensor& tensor, const Shape& shape) {
  static_cast<void>(tensors.require(tensor.name, {dtype_of(tensor)}, shape));
}

// Of a row, of a matrix whose groups the rules know.
std::int64_t groups_of_row(const StoredTensors& tensors, const AwqTensors& from, std::int64_t cols,
                           const AwqRules& rules) {
  if (rules.group_size < 0) return 1;
  if (rules.group_size > 0 && cols % rules.group_size == 0) return cols / rules.group_size;
  tensors.fail(from.codes->name, fmt::format("shape {}: {} columns are no whole groups of {} (group_size)",
                                             from.codes->shape.to_string(), cols, rules.group_size));
}

GroupMatrix matrix_of(const AwqTensors& from, const Shape& shape, std::int64_t groups) {
  return {.rows = shape[0],
          .cols = shape[1],
          .groups = groups,
          .spec = {.bits = 4,
                   .values = block_of_groups(shape[1] / groups),
                   .offset = quant::GroupOffset::kZeroPoint,
                   .number = number_type(*from.scales)},
          .order = {},
          .group_of_block = {},
          .codes = nullptr,
          .numbers = {},
          .scales_name = from.scales->name,
          .tensors = {from.codes, from.zeros, from.scales},
          .by_row = {from.scales},
          .groups_first = true};
}

OpenedMatrix open_gemm(const StoredTensors& tensors, const AwqTensors& from, const AwqRules& rules) {
  const std::int64_t cols = from.codes->shape[0], rows = from.codes->shape[1] * kLanes;
  const std::int64_t groups = rules.group_size == 0 ? from.scales->shape[0] : groups_of_row(tensors, from, cols, rules);
  if (cols % groups != 0) {
    tensors.fail(from.scales->name, fmt::format("shape {}: {} columns are not {} groups of equal size",
                                                from.scales->shape.to_string(), cols, groups));
  }
  if (const Shape expected{groups, rows}; from.scales->shape != expected) {
    tensors.fail(from.scales->name,
                 fmt::format("shape {}: expected {}, for groups of {} (group_size) of {} columns",
                             from.scales->shape.to_string(), expected.to_string(), cols / groups, cols));
  }
  check_shape(tensors, *from.zeros, Shape{groups, rows / kLanes});
  GroupMatrix matrix = matrix_of(from, Shape{rows, cols}, groups);
  matrix.codes = awq_codes(tensors, *from.codes);
  matrix.numbers = [tensors, from, rows, groups] { return gemm_numbers(tensors, from, rows, groups); };
  return {rows, cols, group_weight(tensors, std::move(matrix))};
}

OpenedMatrix open_gemv(const StoredTensors& tensors, const AwqTensors& from, const AwqRules& rules) {
  const std::int64_t rows = from.codes->shape[0], cols = from.codes->shape[1] * kLanes;
  const std::int64_t groups = groups_of_row(tensors, from, cols, rules), words = from.zeros->shape[1];
  if (words * kLanes < groups) {
    tensors.fail(from.zeros->name, fmt::format("shape {}: expected [{}, {} or more]", from.zeros->shape.to_string(),
                                               rows, (groups + kLanes - 1) / kLanes));
  }
  check_shape(tensors, *from.zeros, Shape{rows, words});
  check_shape(tensors, *from.scales, Shape{rows, words * kLanes});
  GroupMatrix matrix = matrix_of(from, Shape{rows, cols}, groups);
  matrix.groups_first = false;
  matrix.codes = codes_by_row(tensors, *from.codes, Shape{rows, cols}, {.bits = 4});
  matrix.numbers = [tensors, from, rows, groups] { return gemv_numbers(tensors, from, rows, groups); };
  return {rows, cols, group_weight(tensors, std::move(matrix))};
}

OpenedMatrix open_gemv_fast(const StoredTensors& tensors, const AwqTensors& from, const AwqRules& rules) {
  constexpr std::int64_t kTileRows = 4, kTileCols = 64;
  const std::int64_t rows = from.codes->shape[0] * kTileRows, cols = from.codes->shape[1];
  if (cols % kTileCols != 0) {
    tensors.fail(from.codes->name, fmt::format("shape {}: expected [rows / {}, columns], a multiple of {}",
                                               from.codes->shape.to_string(), kTileRows, kTileCols));
  }
  const std::int64_t groups = groups_of_row(tensors, from, cols, rules), stored = from.scales->shape[0];
  if (stored < groups || from.scales->shape[1] != rows) {
    tensors.fail(from.scales->name,
                 fmt::format("shape {}: expected [{} or more, {}]", from.scales->shape.to_string(), groups, rows));
  }
  static_cast<void>(tensors.require(from.zeros->name, {dtype_of(*from.scales)}, from.scales->shape));
  GroupMatrix matrix = matrix_of(from, Shape{rows, cols}, groups);
  matrix.spec.offset = quant::GroupOffset::kMinimum;
  matrix.by_row.push_back(from.zeros);
  matrix.codes = awq_fast_codes(tensors, *from.codes);
  matrix.numbers = [tensors, from, rows, groups] {
    return GroupNumbers{number_bits(tensors, *from.scales, rows, groups, true),
                        number_bits(tensors, *from.zeros, rows, groups, true),
                        {}};
  };
  return {rows, cols, group_weight(tensors, std::move(matrix))};
}

class AwqReader final : public MatrixReader {
 public:
  AwqReader(const AwqRules& rules, const checkpoint::Checkpoint& checkpoint)
      : MatrixReader(checkpoint), rules_(rules) {}

 protected:
  std::vector<std::string> modules() const override { return tensors_.stems(kAwqCodes); }
  bool has_module(const std::string& module) const override {
    return tensors_.find(module + std::string(kAwqCodes)) != nullptr;
  }
  OpenedMatrix open_module(const std::string& module) const override {
    return open_awq_matrix(tensors_, AwqTensors::of_module(tensors_, module, rules_), rules_);
  }

 private:
  AwqRules rules_;
};

}  // namespace

AwqTensors AwqTensors::of_module(const StoredTensors& tensors, const std::string& module, const AwqRules& rules) {
  const bool fast = rules.layout == AwqRules::Layout::kGemvFast;
  return {&tensors.require(module + ".qweight", {fast ? "I16" : "I32"}),
          &tensors.require(module + ".qzeros", fast ? Dtypes(kNumberDtypes) : Dtypes(kWords)),
          &tensors.require(module + ".scales", kNumberDtypes)};
}

std::int64_t checked_group_size(const checkpoint::JsonFields& fields, std::int64_t size) {
  if (size == -1 || (size >= 1 && size <= kLargestGroupSize)) return size;
  fields.unsupported("group_size", fmt::format("{}; -1, or 1 or more expected", size));
}

OpenedMatrix open_awq_matrix(const StoredTensors& tensors, const AwqTensors& from, const AwqRules& rules) {
  for (const RawTensor* tensor : {from.codes, from.zeros, from.scales}) {
    if (tensor->shape.rank() == 2) continue;
    tensors.fail(tensor->name, fmt::format("shape {}: expected two dimensions", tensor->shape.to_string()));
  }
  switch (rules.layout) {
    case AwqRules::Layout::kGemv: return open_gemv(tensors, from, rules);
    case AwqRules::Layout::kGemvFast: return open_gemv_fast(tensors, from, rules);
    case AwqRules::Layout::kGemm: break;
  }
  return open_gemm(tensors, from, rules);
}

std::unique_ptr<WeightReader> awq_reader(const AwqRules& rules, const checkpoint::Checkpoint& checkpoint) {
  return std::make_unique<AwqReader>(rules, checkpoint);
}

}  // namespace millrace::model
