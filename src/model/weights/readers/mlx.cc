// MLX: weight u32 [rows, words], a row's codes in one stream; scales and biases [rows, groups]: w = scale * q + bias.
// The modes mxfp4 and mxfp8 have exponents u8 as scales and no biases. Embeddings are quantized too. The
// configuration's field "quantization" has the defaults, and under modules' names what differs there.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/weights/float_matrix.h"
#include "model/weights/integer_matrix.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;
using checkpoint::RawTensor;

struct MlxSettings {
  std::int64_t bits = 4, group_size = 64;
  std::string mode = "affine";
};

MlxSettings mlx_settings(const JsonFields& fields, MlxSettings defaults) {
  defaults.bits = fields.integer("bits").value_or(defaults.bits);
  defaults.group_size = fields.integer("group_size").value_or(defaults.group_size);
  defaults.mode = fields.text("mode").value_or(defaults.mode);
  if (defaults.mode != "affine" && defaults.mode != "mxfp4" && defaults.mode != "mxfp8" && defaults.mode != "nvfp4") {
    fields.unsupported("mode", "'" + defaults.mode + "' is not supported, only affine, mxfp4, mxfp8 and nvfp4");
  }
  const bool known = defaults.bits == 2 || defaults.bits == 3 || defaults.bits == 4 || defaults.bits == 5 ||
                     defaults.bits == 6 || defaults.bits == 8;
  if (!known) fields.unsupported("bits", fmt::format("{} is not supported, only 2, 3, 4, 5, 6 and 8", defaults.bits));
  if (defaults.group_size < 1)
    fields.unsupported("group_size", fmt::format("{}; 1 or more expected", defaults.group_size));
  return defaults;
}

class MlxReader final : public MatrixReader {
 public:
  MlxReader(const JsonFields& quantization, const Checkpoint& checkpoint)
      : MatrixReader(checkpoint), fields_(quantization), defaults_(mlx_settings(quantization, {})) {}

 protected:
  std::vector<std::string> modules() const override {
    std::vector<std::string> all = tensors_.stems(".scales");
    std::erase_if(all, [this](const std::string& module) { return !has_module(module); });
    return all;
  }
  bool has_module(const std::string& module) const override {
    return tensors_.find(module + ".scales") != nullptr && tensors_.find(module + ".weight") != nullptr;
  }
  OpenedMatrix open_module(const std::string& module) const override {
    const MlxSettings settings = settings_of(module);
    const RawTensor& codes = tensors_.require(module + ".weight", {"U32"});
    if (codes.shape.rank() != 2) {
      tensors_.fail(codes.name, fmt::format("shape {}: expected two dimensions", codes.shape.to_string()));
    }
    if (settings.mode != "affine") return open_floats(module, codes, settings);
    const RawTensor& scales = tensors_.require(module + ".scales", kNumberDtypes);
    const std::int64_t rows = codes.shape[0], cols = codes.shape[1] * 32 / settings.bits;
    if (codes.shape[1] * 32 % settings.bits != 0 || cols % settings.group_size != 0) {
      tensors_.fail(codes.name, fmt::format("shape {}: no whole groups of {} codes of {} bits", codes.shape.to_string(),
                                            settings.group_size, settings.bits));
    }
    return open_integers(tensors_, {.rows = rows,
                                    .cols = cols,
                                    .codes = &codes,
                                    .scales = &tensors_.require(scales.name, {dtype_of(scales)},
                                                                Shape{rows, cols / settings.group_size}),
                                    .order = {.bits = static_cast<int>(settings.bits)},
                                    .minima = &tensors_.require(module + ".biases", {dtype_of(scales)}),
                                    .others = {}});
  }

 private:
  OpenedMatrix open_floats(const std::string& module, const RawTensor& codes, const MlxSettings& settings) const {
    const RawTensor& scales = tensors_.require(module + ".scales", {"U8"});
    const Float8Tensors stored{&codes, &scales, {}, {}};
    if (settings.mode == "mxfp4") return open_mxfp4(tensors_, stored);
    if (settings.mode == "mxfp8") return open_float8(tensors_, stored);
    return open_nvfp4(tensors_, stored, 1.0f);
  }
  MlxSettings settings_of(const std::string& module) const {
    const nlohmann::json* own = fields_.find(module);
    if (own == nullptr || !own->is_object()) return defaults_;
    return mlx_settings(JsonFields(fields_.file(), *own, "quantization." + module + "."), defaults_);
  }

  JsonFields fields_;
  MlxSettings defaults_;
};

}  // namespace

WeightReaderKind mlx() {
  return {.method = checkpoint::kMlxMethod,
          .accepts =
              [](const JsonFields& quantization, const Checkpoint&) {
                if (quantization.text("quant_method") != checkpoint::kMlxMethod) return false;
                mlx_settings(quantization, {});
                return true;
              },
          .open = [](const JsonFields& quantization, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<MlxReader>(quantization, checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers
