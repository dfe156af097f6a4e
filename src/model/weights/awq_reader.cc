#include "model/weights/awq_reader.h"

#include <cstring>
#include <utility>

#include "model/weights/group_weight.h"

namespace millrace::model {
namespace {

using checkpoint::RawTensor;

constexpr std::string_view kAwqCodes = ".qweight";
constexpr std::int64_t kLanes = 8;

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

OpenedMatrix finish(const StoredTensors& tensors, const AwqTensors& from, const Shape& shape, std::int64_t groups,
                    bool gemm) {
  const std::int64_t rows = shape[0], cols = shape[1];
  GroupMatrix matrix{
      .rows = rows,
      .cols = cols,
      .groups = groups,
      .spec = {.bits = 4,
               .values = block_of_groups(tensors, from.scales->name, cols / groups),
               .offset = quant::GroupOffset::kZeroPoint,
               .number = number_type(*from.scales)},
      .order = {},
      .group_of_block = {},
      .codes = gemm ? awq_codes(tensors, *from.codes) : codes_by_row(tensors, *from.codes, shape, {.bits = 4}),
      .numbers = {},
      .scales_name = from.scales->name,
      .tensors = {from.codes, from.zeros, from.scales},
      .by_row = {from.scales},
      .groups_first = gemm};
  matrix.numbers = [tensors, from, rows, groups, gemm] {
    return (gemm ? gemm_numbers : gemv_numbers)(tensors, from, rows, groups);
  };
  return {rows, cols, group_weight(tensors, std::move(matrix))};
}

OpenedMatrix open_gemm(const StoredTensors& tensors, const AwqTensors& from) {
  const std::int64_t cols = from.codes->shape[0], rows = from.codes->shape[1] * kLanes;
  const std::int64_t groups = from.scales->shape[0];
  if (cols % groups != 0) {
    tensors.fail(from.scales->name, fmt::format("shape {}: {} columns are not {} groups of equal size",
                                                from.scales->shape.to_string(), cols, groups));
  }
  check_shape(tensors, *from.scales, Shape{groups, rows});
  check_shape(tensors, *from.zeros, Shape{groups, rows / kLanes});
  return finish(tensors, from, Shape{rows, cols}, groups, true);
}

OpenedMatrix open_gemv(const StoredTensors& tensors, const AwqTensors& from, const AwqRules& rules) {
  const std::int64_t rows = from.codes->shape[0], cols = from.codes->shape[1] * kLanes;
  if (rules.group_size > 0 && cols % rules.group_size != 0) {
    tensors.fail(from.codes->name, fmt::format("{} columns are no whole groups of {}", cols, rules.group_size));
  }
  const std::int64_t groups = rules.group_size > 0 ? cols / rules.group_size : 1, words = from.zeros->shape[1];
  if (words * kLanes < groups) {
    tensors.fail(from.zeros->name, fmt::format("shape {}: expected [{}, {} or more]", from.zeros->shape.to_string(),
                                               rows, (groups + kLanes - 1) / kLanes));
  }
  check_shape(tensors, *from.zeros, Shape{rows, words});
  check_shape(tensors, *from.scales, Shape{rows, words * kLanes});
  return finish(tensors, from, Shape{rows, cols}, groups, false);
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
    return open_awq_matrix(
        tensors_,
        {&tensors_.require(module + ".qweight", {"I32"}), &tensors_.require(module + ".qzeros", {"I32"}),
         &tensors_.require(module + ".scales", kNumberDtypes)},
        rules_);
  }

 private:
  AwqRules rules_;
};

}  // namespace

OpenedMatrix open_awq_matrix(const StoredTensors& tensors, const AwqTensors& from, const AwqRules& rules) {
  for (const RawTensor* tensor : {from.codes, from.zeros, from.scales}) {
    if (tensor->shape.rank() == 2) continue;
    tensors.fail(tensor->name, fmt::format("shape {}: expected two dimensions", tensor->shape.to_string()));
  }
  return rules.gemv ? open_gemv(tensors, from, rules) : open_gemm(tensors, from);
}

std::unique_ptr<WeightReader> awq_reader(const AwqRules& rules, const checkpoint::Checkpoint& checkpoint) {
  return std::make_unique<AwqReader>(rules, checkpoint);
}

}  // namespace millrace::model
