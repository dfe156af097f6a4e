// BitNet b1.58 (arXiv:2402.17764) packed by Transformers: weight u8 [rows / 4, cols], codes of 2 bits in four planes of
// rows, value q - 1; weight_scale [1], by which AutoBitLinear multiplies and BitLinear, the default, divides.
#include <bit>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "model/weights/group_weight.h"
#include "model/weights/matrix_reader.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;
using checkpoint::RawTensor;

constexpr std::string_view kBitnetMethod = "bitnet";

class BitnetReader final : public MatrixReader {
 public:
  BitnetReader(const Checkpoint& checkpoint, bool multiplies) : MatrixReader(checkpoint), multiplies_(multiplies) {}

 protected:
  std::vector<std::string> modules() const override { return tensors_.modules({}, {"U8"}); }
  bool has_module(const std::string& module) const override { return tensors_.has_weight(module, {"U8"}); }
  OpenedMatrix open_module(const std::string& module) const override {
    const RawTensor& codes = tensors_.require(module + ".weight", {"U8"});
    const RawTensor& scale = tensors_.require(module + ".weight_scale", kNumberDtypes);
    if (codes.shape.rank() != 2 || scale.shape.elements() != 1) {
      tensors_.fail(codes.name, fmt::format("shape {} with {} scales: expected two dimensions and one scale",
                                            codes.shape.to_string(), scale.shape.elements()));
    }
    const std::int64_t rows = codes.shape[0] * 4, cols = codes.shape[1];
    GroupMatrix matrix{.rows = rows,
                       .cols = cols,
                       .groups = 1,
                       .scale_rows = rows,
                       .spec = {.bits = 2,
                                .values = block_of_groups(cols),
                                .offset = quant::GroupOffset::kZeroPoint,
                                .number = DType::kF32},
                       .order = {},
                       .group_of_block = {},
                       .codes = codes_in_planes(tensors_, codes),
                       .numbers = {},
                       .scales_name = scale.name,
                       .tensors = {&codes, &scale},
                       .by_row = {},
                       .groups_first = false};
    matrix.numbers = [tensors = tensors_, &scale, rows, multiplies = multiplies_] {
      const float stored = tensors.floats(scale).front();
      if (!multiplies && !std::isfinite(1.0f / stored)) {
        tensors.fail(scale.name, fmt::format("{}, by which weights are divided", stored));
      }
      const auto bits = std::bit_cast<std::uint32_t>(multiplies ? stored : 1.0f / stored);
      const auto n = static_cast<std::size_t>(rows);
      return GroupNumbers{std::vector<std::uint32_t>(n, bits), {}, std::vector<std::uint8_t>(n, 1)};
    };
    return {rows, cols, group_weight(tensors_, std::move(matrix))};
  }

 private:
  bool multiplies_;
};

bool accepts_bitnet(const JsonFields& quantization, const Checkpoint&) {
  if (quantization.text("quant_method") != kBitnetMethod) return false;
  const std::string kind = quantization.text("linear_class").value_or("bitlinear");
  if (kind != "bitlinear" && kind != "autobitlinear") {
    quantization.unsupported("linear_class", "'" + kind + "' is not supported, only bitlinear and autobitlinear");
  }
  return true;
}

}  // namespace

WeightReaderKind bitnet() {
  return {.method = kBitnetMethod,
          .title = "BitNet",
          .variant = "linear_class",
          .version = 1,
          .accepts = accepts_bitnet,
          .open = [](const JsonFields& quantization, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<BitnetReader>(checkpoint, quantization.text("linear_class") == "autobitlinear");
          }};
}

}  // namespace millrace::model::weights::readers
