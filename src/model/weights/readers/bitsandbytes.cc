// bitsandbytes (arXiv:2305.14314), 4 bits: the matrix row after row in bytes of two codes, the first one in the high
// half; blocks of 64 codes, whole or over the ends of rows, with a scale each in <weight>.absmax; the 16 levels in
// .quant_map. Nested: absmax are codes of .nested_quant_map times .nested_absmax for blocks of 256 of them, plus an
// offset. What is not in tensors is JSON in .quant_state.bitsandbytes__nf4 or __fp4.
// 8 bits: weight i8 [rows, cols] * SCB [rows] / 127; activations' outliers do not matter to who reads weights.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "checkpoint/quote_name.h"
#include "model/weights/float_matrix.h"
#include "model/weights/integer_matrix.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;
using checkpoint::RawTensor;

constexpr std::string_view kBnbMethod = "bitsandbytes", kBnbAbsmax = ".weight.absmax", kBnbScb = ".SCB";
constexpr std::size_t kNestedCodes = 256;
constexpr std::int64_t kMaxBnb = 1 << 30;  // rows, columns, values of a block

struct BnbState {
  quant::GroupCodes codes = quant::GroupCodes::kNf4;
  const RawTensor* tensor = nullptr;
  std::int64_t rows = 0, cols = 0, block = 0;
  std::int64_t nested_block = 0;  // 0: not nested
  float nested_offset = 0.0f;
};

class BnbReader final : public MatrixReader {
 public:
  explicit BnbReader(const Checkpoint& checkpoint) : MatrixReader(checkpoint) {}

 protected:
  std::vector<std::string> modules() const override { return tensors_.modules({kBnbAbsmax, kBnbScb}, {"I8"}); }
  bool has_module(const std::string& module) const override {
    return tensors_.find(module + std::string(kBnbAbsmax)) != nullptr || is_bytes(module);
  }
  OpenedMatrix open_module(const std::string& module) const override {
    return is_bytes(module) ? open_bytes(module) : open_levels(module);
  }

 private:
  bool is_bytes(const std::string& module) const {
    return tensors_.find(module + std::string(kBnbScb)) != nullptr || tensors_.has_weight(module, {"I8"});
  }
  OpenedMatrix open_bytes(const std::string& module) const {
    const RawTensor& weight = tensors_.require(module + ".weight", {"I8"});
    if (weight.shape.rank() != 2) {
      tensors_.fail(weight.name, fmt::format("shape {}: expected two dimensions", weight.shape.to_string()));
    }
    if (const RawTensor* order = tensors_.find(module + ".weight_format")) {
      const std::vector<std::int64_t> format = tensors_.integers(*order);
      if (format.size() != 1 || format[0] != 0) {
        tensors_.fail(order->name,
                      fmt::format("{}: codes in the order of a GPU's kernel; only 0, row by row, is read", format[0]));
      }
    }
    return open_integers(tensors_, {.rows = weight.shape[0],
                                    .cols = weight.shape[1],
                                    .codes = &weight,
                                    .scales = &tensors_.require(module + ".SCB", {"F32"}, Shape{weight.shape[0]}),
                                    .order = {.bits = 8, .flipped = 128},
                                    .scale_factor = 1.0f / 127.0f,
                                    .others = tensors_of(tensors_, module, {"weight_format"})});
  }

  BnbState state_of(const std::string& weight) const {
    BnbState state;
    for (const auto& [ending, codes] :
         {std::pair{"nf4", quant::GroupCodes::kNf4}, std::pair{"fp4", quant::GroupCodes::kFp4}}) {
      const RawTensor* tensor = tensors_.find(weight + ".quant_state.bitsandbytes__" + ending);
      if (tensor == nullptr) continue;
      state.codes = codes;
      state.tensor = tensor;
    }
    if (state.tensor == nullptr) tensors_.fail(weight + ".quant_state.bitsandbytes__nf4", "missing, and no fp4 either");
    const std::vector<std::byte> raw = tensors_.bytes(*state.tensor);
    const auto json = nlohmann::json::parse(reinterpret_cast<const char*>(raw.data()),
                                            reinterpret_cast<const char*>(raw.data()) + raw.size(), nullptr, false);
    if (!json.is_object()) tensors_.fail(state.tensor->name, "no JSON object");
    const JsonFields fields(state.tensor->name, json);
    const std::string type = fields.text("quant_type").value_or("");
    if (type != ending_of(state.codes)) {
      tensors_.fail(state.tensor->name,
                    "quant_type " + checkpoint::quote_name(type) + ": nf4 or fp4 expected, as in its name");
    }
    const auto shape = fields.numbers("shape");
    const auto outside = [](double dim) { return dim < 1.0 || dim > kMaxBnb; };
    if (!shape || shape->size() != 2 || std::ranges::any_of(*shape, outside)) {
      tensors_.fail(state.tensor->name, "shape: two numbers from 1 on expected");
    }
    state.rows = static_cast<std::int64_t>((*shape)[0]);
    state.cols = static_cast<std::int64_t>((*shape)[1]);
    state.block = required_block(fields, "blocksize");
    if (fields.find("nested_blocksize") == nullptr) return state;
    state.nested_block = required_block(fields, "nested_blocksize");
    state.nested_offset = static_cast<float>(fields.number("nested_offset").value_or(0.0));
    return state;
  }
  static std::string_view ending_of(quant::GroupCodes codes) noexcept {
    return codes == quant::GroupCodes::kNf4 ? "nf4" : "fp4";
  }
  static std::int64_t required_block(const JsonFields& fields, std::string_view key) {
    const std::int64_t block = fields.integer(key).value_or(0);
    if (block < 1 || block > kMaxBnb) fields.unsupported(key, fmt::format("{}; 1 or more expected", block));
    return block;
  }

  // The tensor has so many values; its shape does not matter.
  const RawTensor& require_values(const std::string& name, const Dtypes& dtypes, std::int64_t values,
                                  const BnbState& state) const {
    const RawTensor& tensor = tensors_.require(name, dtypes);
    if (tensor.shape.elements() == values) return tensor;
    tensors_.fail(
        name, fmt::format("shape {}: expected {} values, for [{}, {}] in blocks of {} ({})", tensor.shape.to_string(),
                          values, state.rows, state.cols, state.block, state.tensor->name));
  }

  void check_levels(const std::string& weight, const BnbState& state) const {
    const RawTensor& map = require_values(weight + ".quant_map", {"F32"}, 16, state);
    const std::vector<float> levels = tensors_.floats(map);
    const auto expected = quant::group_levels(state.codes);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (levels[i] == expected[i]) continue;
      tensors_.fail(map.name,
                    fmt::format("level {} is {}, not {} as in {}", i, levels[i], expected[i], ending_of(state.codes)));
    }
  }

  OpenedMatrix open_levels(const std::string& module) const {
    const std::string weight = module + ".weight";
    const BnbState state = state_of(weight);
    const RawTensor& codes = tensors_.require(weight, {"U8", "BF16", "F16", "F32"});  // bytes, whatever their type
    const std::int64_t values = state.rows * state.cols, blocks = (values + state.block - 1) / state.block;
    if (static_cast<std::int64_t>(codes.bytes) * 2 != values || state.cols % 2 != 0) {
      tensors_.fail(weight, fmt::format("{} bytes: expected {}, half of [{}, {}] ({})", codes.bytes, values / 2,
                                        state.rows, state.cols, state.tensor->name));
    }
    check_levels(weight, state);
    const RawTensor& absmax =
        require_values(weight + ".absmax", {state.nested_block > 0 ? "U8" : "F32"}, blocks, state);
    const int block = block_of_groups(std::gcd(state.block, state.cols));
    GroupMatrix matrix{
        .rows = state.rows,
        .cols = state.cols,
        .groups = state.cols / block,
        .scale_cols = state.block,
        .spec = {.bits = 4, .values = block, .number = DType::kF32, .codes = state.codes},
        .order = {},
        .group_of_block = {},
        .codes = codes_by_row(tensors_, codes, Shape{state.rows, state.cols}, {.bits = 4, .high_nibble_first = true}),
        .numbers = {},
        .scales_name = absmax.name,
        .tensors = {&codes, &absmax, state.tensor},
        .by_row = {},
        .groups_first = false};
    for (const RawTensor* other : tensors_of(tensors_, weight, {"quant_map", "nested_absmax", "nested_quant_map"})) {
      matrix.tensors.push_back(other);
    }
    std::vector<float> (*scales)(const StoredTensors&, const std::string&, const BnbState&) =
        state.nested_block > 0 ? nested_scales : plain_scales;
    matrix.numbers = [tensors = tensors_, weight, state, block, scales] {
      const std::vector<float> of_block = scales(tensors, weight, state);
      GroupNumbers numbers;
      for (std::int64_t at = 0; at < state.rows * state.cols; at += block) {
        numbers.scales.push_back(std::bit_cast<std::uint32_t>(of_block[static_cast<std::size_t>(at / state.block)]));
      }
      return numbers;
    };
    return {state.rows, state.cols, group_weight(tensors_, std::move(matrix))};
  }

  static std::vector<float> plain_scales(const StoredTensors& tensors, const std::string& weight, const BnbState&) {
    return tensors.floats(tensors.require(weight + ".absmax", {"F32"}));
  }
  static std::vector<float> nested_scales(const StoredTensors& tensors, const std::string& weight,
                                          const BnbState& state) {
    const std::vector<std::byte> codes = tensors.bytes(tensors.require(weight + ".absmax", {"U8"}));
    const auto blocks = (std::ssize(codes) + state.nested_block - 1) / state.nested_block;
    const std::vector<float> outer = tensors.floats(tensors.require(weight + ".nested_absmax", {"F32"}, Shape{blocks}));
    const std::vector<float> levels = tensors.floats(
        tensors.require(weight + ".nested_quant_map", {"F32"}, Shape{static_cast<std::int64_t>(kNestedCodes)}));
    std::vector<float> scales;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const float level = levels[std::to_integer<std::size_t>(codes[i])];
      const float scale = level * outer[i / static_cast<std::size_t>(state.nested_block)] + state.nested_offset;
      if (!std::isfinite(scale)) {
        tensors.fail(weight + ".absmax", fmt::format("value {} is {} with the scales around it", i, scale));
      }
      scales.push_back(scale);
    }
    return scales;
  }
};

}  // namespace

WeightReaderKind bitsandbytes() {
  return {.method = kBnbMethod,
          .title = "bitsandbytes",
          .variant = "",
          .version = 1,
          .accepts = [](const JsonFields& quantization,
                        const Checkpoint&) { return quantization.text("quant_method") == kBnbMethod; },
          .open = [](const JsonFields&, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<BnbReader>(checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers
