// torchao's tensors as Transformers flattens them into safetensors: <module>._weight_qdata with ._weight_scale and, of
// integers, ._weight_zero_point.
//   qdata i8 [rows, cols], scale [rows, groups], zero_point i8      w = scale * (q - zero_point)
//   qdata f8_e4m3 [rows, cols], scale [rows, 1] or [1, 1]           w = scale * q
//   qdata i8 [rows, cols / 2], scale and zero_point [groups, rows]  w = scale * q + zero_point, two signed codes a
//   byte,
//                                                                   the first one in its low half
// The file's metadata have under <module>.weight a JSON object whose _type names the class of the tensors.
#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "checkpoint/quote_name.h"
#include "checkpoint/safetensors_reader.h"
#include "model/weights/float_matrix.h"
#include "model/weights/integer_matrix.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;
using checkpoint::RawTensor;

constexpr std::string_view kTorchaoMethod = "torchao", kTorchaoCodes = "._weight_qdata", kTorchaoWeight = ".weight";
enum class TorchaoCodes : std::uint8_t { kBytes, kFloats, kHalves };
struct TorchaoClass {
  std::string_view name;
  TorchaoCodes codes;
};
constexpr TorchaoClass kTorchaoClasses[] = {{"Int8Tensor", TorchaoCodes::kBytes},
                                            {"IntxUnpackedToInt8Tensor", TorchaoCodes::kBytes},
                                            {"Float8Tensor", TorchaoCodes::kFloats},
                                            {"Int4Tensor", TorchaoCodes::kHalves}};

class TorchaoReader final : public MatrixReader {
 public:
  explicit TorchaoReader(const Checkpoint& checkpoint) : MatrixReader(checkpoint) {
    for (const auto& file : checkpoint.files) {
      for (auto& [name, text] : checkpoint::read_safetensors_metadata(*file)) {
        if (name.ends_with(kTorchaoWeight)) add_class(name, text);
      }
    }
  }

 protected:
  std::vector<std::string> modules() const override {
    std::set<std::string> all;
    for (std::string& module : tensors_.stems(kTorchaoCodes)) all.insert(std::move(module));
    for (const auto& [module, codes] : classes_) all.insert(module);
    return {all.begin(), all.end()};
  }
  bool has_module(const std::string& module) const override {
    return classes_.contains(module) || tensors_.find(module + std::string(kTorchaoCodes)) != nullptr;
  }
  OpenedMatrix open_module(const std::string& module) const override {
    const RawTensor& codes = tensors_.require(module + std::string(kTorchaoCodes), {"I8", "F8_E4M3"});
    const RawTensor& scale = tensors_.require(module + "._weight_scale", kNumberDtypes);
    if (codes.shape.rank() != 2) {
      tensors_.fail(codes.name, fmt::format("shape {}: expected two dimensions", codes.shape.to_string()));
    }
    const auto known = classes_.find(module);
    if (known == classes_.end()) {
      tensors_.fail(codes.name, fmt::format("the file's metadata do not say of which class '{}.weight' is", module));
    }
    if ((known->second == TorchaoCodes::kFloats) != (dtype_of(codes) == "F8_E4M3")) {
      tensors_.fail(codes.name,
                    fmt::format("{}, which the class in the file's metadata does not have", dtype_of(codes)));
    }
    if (dtype_of(codes) == "F8_E4M3") return open_float8(tensors_, {&codes, &scale, {}, {}});
    if (known->second == TorchaoCodes::kHalves) {
      return open_nibbles(codes, scale, tensors_.require(module + "._weight_zero_point", kNumberDtypes));
    }
    const RawTensor* zeros = tensors_.find(module + "._weight_zero_point");
    if (zeros != nullptr) static_cast<void>(tensors_.require(zeros->name, {"I8"}));
    return open_integers(tensors_, {.rows = codes.shape[0],
                                    .cols = codes.shape[1],
                                    .codes = &codes,
                                    .scales = &scale,
                                    .order = {.bits = 8, .flipped = 128},
                                    .zero_points = zeros,
                                    .others = {}});
  }

 private:
  void add_class(const std::string& name, const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) tensors_.fail(name, "its entry in the file's metadata is no JSON object");
    const std::string type = JsonFields(name, json).text("_type").value_or("");
    if (type == "Tensor") return;
    const auto* known = std::ranges::find(kTorchaoClasses, type, &TorchaoClass::name);
    if (known == std::end(kTorchaoClasses)) {
      tensors_.fail(name, checkpoint::quote_name(type) +
                              " in the file's metadata; only Int8Tensor, IntxUnpackedToInt8Tensor, Float8Tensor and "
                              "Int4Tensor are read");
    }
    classes_.emplace(stem_of(name, kTorchaoWeight), known->codes);
  }
  OpenedMatrix open_nibbles(const RawTensor& codes, const RawTensor& scale, const RawTensor& zeros) const {
    const std::int64_t rows = codes.shape[0], cols = codes.shape[1] * 2;
    const std::int64_t groups = scale.shape.rank() == 2 ? scale.shape[0] : 0;
    if (groups < 1 || scale.shape[1] != rows || cols % groups != 0) {
      tensors_.fail(scale.name, fmt::format("shape {}: expected [groups, {}], for {} columns in groups of equal size",
                                            scale.shape.to_string(), rows, cols));
    }
    static_cast<void>(tensors_.require(zeros.name, {dtype_of(scale)}, scale.shape));
    GroupMatrix matrix{.rows = rows,
                       .cols = cols,
                       .groups = groups,
                       .spec = {.bits = 4,
                                .values = block_of_groups(cols / groups),
                                .offset = quant::GroupOffset::kMinimum,
                                .number = DType::kF32},
                       .order = {},
                       .group_of_block = {},
                       .codes = codes_by_row(tensors_, codes, Shape{rows, cols}, {.bits = 4, .flipped = 8}),
                       .numbers = {},
                       .scales_name = scale.name,
                       .tensors = {&codes, &scale, &zeros},
                       .by_row = {&scale, &zeros},
                       .groups_first = true};
    matrix.numbers = [tensors = tensors_, &scale, &zeros, rows, groups] {
      GroupNumbers numbers{.scales = number_bits(tensors, scale, rows, groups, true),
                           .minima = number_bits(tensors, zeros, rows, groups, true)};
      for (std::size_t i = 0; i < numbers.scales.size(); ++i) {
        const float step = quant::stored_number(number_type(scale), numbers.scales[i]);
        const float zero = quant::stored_number(number_type(zeros), numbers.minima[i]);
        numbers.scales[i] = std::bit_cast<std::uint32_t>(step);
        numbers.minima[i] = std::bit_cast<std::uint32_t>(zero - 8.0f * step);
      }
      return numbers;
    };
    return {rows, cols, group_weight(tensors_, std::move(matrix))};
  }

  std::map<std::string, TorchaoCodes> classes_;  // of modules
};

}  // namespace

WeightReaderKind torchao() {
  return {.method = kTorchaoMethod,
          .title = "torchao",
          .variant = "",
          .version = 1,
          .accepts = [](const JsonFields& quantization,
                        const Checkpoint&) { return quantization.text("quant_method") == kTorchaoMethod; },
          .open = [](const JsonFields&, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<TorchaoReader>(checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers
