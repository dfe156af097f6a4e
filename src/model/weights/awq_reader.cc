#include "model/weights/awq_reader.h"

#include <cstring>
#include <utility>

#include "model/weights/group_weight.h"
#include "model/weights/matrix_reader.h"

namespace millrace::model {
namespace {

using checkpoint::RawTensor;

constexpr std::string_view kAwqCodes = ".qweight";
constexpr std::int64_t kLanes = 8;

struct AwqTensors {
  const RawTensor *codes, *zeros, *scales;
};

std::vector<std::uint32_t> words_of(const StoredTensors& tensors, const RawTensor& tensor) {
  const std::vector<std::byte> raw = tensors.bytes(tensor);
  std::vector<std::uint32_t> words(raw.size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), raw.data(), raw.size());
  return words;
}

GroupNumbers gemm_numbers(const StoredTensors& tensors, const AwqTensors& from, std::int64_t rows,
                          std::int64_t groups) {
  GroupNumbers numbers{.scales = number_bits(tensors, *from.scales, rows, groups, true)};
  const std::vector<std::uint32_t> words = words_of(tensors, *from.zeros);
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
  const std::vector<std::uint32_t> words = words_of(tensors, *from.zeros);
  const std::vector<std::uint32_t> padded = number_bits(tensors, *from.scales, rows, stored_groups, false);
  GroupNumbers numbers;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t g = 0; g < groups; ++g) {
      numbers.scales.push_back(padded[static_cast<std::size_t>(r * stored_groups + g)]);
      numbers.zero_points.push_back(
          static_cast<std::uint8_t>(stream_field(words.data() + r * words_of_row, g, 4)));
    }
  }
  return numbers;
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
    AwqTensors from{&tensors_.require(module + ".qweight", {"I32"}), &tensors_.require(module + ".qzeros", {"I32"}),
                    &tensors_.require(module + ".scales", kNumberDtypes)};
    for (const RawTensor* tensor : {from.codes, from.zeros, from.scales}) {
      if (tensor->shape.rank() == 2) continue;
      tensors_.fail(tensor->name, fmt::format("shape {}: expected two dimensions", tensor->shape.to_string()));
    }
    return rules_.gemv ? open_gemv(from) : open_gemm(from);
  }

 private:
  OpenedMatrix open_gemm(const AwqTensors& from) const {
    const std::int64_t cols = from.codes->shape[0], rows = from.codes->shape[1] * kLanes;
    const std::int64_t groups = from.scales->shape[0];
    check_groups(*from.scales, cols, groups);
    check_shape(*from.scales, Shape{groups, rows});
    check_shape(*from.zeros, Shape{groups, rows / kLanes});
    return finish(from, rows, cols, groups, awq_codes(tensors_, *from.codes), true);
  }
  OpenedMatrix open_gemv(const AwqTensors& from) const {
    const std::int64_t rows = from.codes->shape[0], cols = from.codes->shape[1] * kLanes;
    const std::int64_t groups = rules_.group_size > 0 ? cols / rules_.group_size : 1;
    if (rules_.group_size > 0 && cols % rules_.group_size != 0) {
      tensors_.fail(from.codes->name, fmt::format("{} columns are no whole groups of {}", cols, rules_.group_size));
    }
    const std::int64_t words = from.zeros->shape[1];
    if (words * kLanes < groups) {
      tensors_.fail(from.zeros->name, fmt::format("shape {}: expected [{}, {} or more]",
                                                  from.zeros->shape.to_string(), rows, (groups + kLanes - 1) / kLanes));
    }
    check_shape(*from.zeros, Shape{rows, words});
    check_shape(*from.scales, Shape{rows, words * kLanes});
    return finish(from, rows, cols, groups, codes_by_row(tensors_, *from.codes, cols, {.bits = 4}), false);
  }
  OpenedMatrix finish(const AwqTensors& from, std::int64_t rows, std::int64_t cols, std::int64_t groups,
                      std::unique_ptr<CodeSource> codes, bool gemm) const {
    GroupMatrix matrix{.rows = rows,
                       .cols = cols,
                       .groups = groups,
                       .spec = {.bits = 4,
                                .values = block_of_groups(tensors_, from.scales->name, cols / groups),
                                .offset = quant::GroupOffset::kZeroPoint,
                                .number = number_type(*from.scales)},
                       .order = {},
                       .group_of_block = {},
                       .codes = std::move(codes),
                       .numbers = {},
                       .scales_name = from.scales->name,
                       .tensors = {from.codes, from.zeros, from.scales},
                       .by_row = {from.scales},
                       .groups_first = gemm};
    matrix.numbers = [tensors = tensors_, from, rows, groups, gemm] {
      return (gemm ? gemm_numbers : gemv_numbers)(tensors, from, rows, groups);
    };
    return {rows, cols, group_weight(tensors_, std::move(matrix))};
  }
  void check_groups(const RawTensor& scales, std::int64_t cols, std::int64_t groups) const {
    if (groups > 0 && cols % groups == 0) return;
    tensors_.fail(scales.name, fmt::format("shape {}: {} columns are not {} groups of equal size",
                                           scales.shape.to_string(), cols, groups));
  }
  void check_shape(const RawTensor& tensor, const Shape& shape) const {
    static_cast<void>(tensors_.require(tensor.name, {dtype_of(tensor)}, shape));
  }
  AwqRules rules_;
};

}  // namespace

std::unique_ptr<WeightReader> awq_reader(const AwqRules& rules, const checkpoint::Checkpoint& checkpoint) {
  return std::make_unique<AwqReader>(rules, checkpoint);
}

}  // namespace millrace::model
