// Gemma's checkpoints of quantization-aware training, as Transformers reads them: <module>.weight u8 with codes of 2 or
// 4 bits, the first one in the lowest bits, 2 or 8 more than the value; or i8. weight_scale f32 [rows, 1]. Embeddings
// lie in embedding_quantized and embedding_scale [rows, groups]. Scales of activations are of those who round them too.
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "model/weights/float_matrix.h"
#include "model/weights/integer_matrix.h"
#include "model/weights/module_pattern.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;
using checkpoint::RawTensor;

constexpr std::string_view kGemmaMethod = "gemma", kGemmaTypes[] = {"U8", "I8"};

int gemma_bits(const JsonFields& fields, int otherwise) {
  const std::int64_t bits = fields.integer("num_bits").value_or(otherwise);
  if (bits != 2 && bits != 4 && bits != 8) {
    fields.unsupported("num_bits", fmt::format("{} is not supported, only 2, 4 and 8", bits));
  }
  return static_cast<int>(bits);
}

class GemmaReader final : public MatrixReader {
 public:
  GemmaReader(const JsonFields& quantization, const Checkpoint& checkpoint)
      : MatrixReader(checkpoint), bits_(gemma_bits(quantization, 4)) {
    const auto own = quantization.object("module_quant_configs");
    if (!own) return;
    for (const auto& [text, value] : quantization.find("module_quant_configs")->items()) {
      if (!value.is_object()) own->wrong_type(text, "an object");
      try {  // found anywhere in the name
        modules_.emplace_back(
            ModulePattern("re:.*?(?:" + text + ")"),
            gemma_bits(JsonFields(quantization.file(), value, "quantization_config.module_quant_configs." + text + "."),
                       bits_));
      } catch (const std::invalid_argument& e) {
        own->unsupported(text, e.what());
      }
    }
  }

 protected:
  std::vector<std::string> modules() const override {
    return tensors_.modules({".weight_scale", ".embedding_quantized"}, kGemmaTypes);
  }
  bool has_module(const std::string& module) const override {
    return tensors_.has_weight(module, kGemmaTypes) || tensors_.find(module + ".weight_scale") != nullptr ||
           tensors_.find(module + ".embedding_quantized") != nullptr;
  }
  OpenedMatrix open_module(const std::string& module) const override {
    const bool embedding = tensors_.find(module + ".embedding_quantized") != nullptr;
    const RawTensor& codes = tensors_.require(module + (embedding ? ".embedding_quantized" : ".weight"), kGemmaTypes);
    if (codes.shape.rank() != 2) {
      tensors_.fail(codes.name, fmt::format("shape {}: expected two dimensions", codes.shape.to_string()));
    }
    const bool bytes = dtype_of(codes) == "I8";
    const int bits = bits_of(module);
    if (bytes != (bits == 8)) {
      tensors_.fail(codes.name, fmt::format("{}, but the configuration says {} bits of it", dtype_of(codes), bits));
    }
    const std::int64_t rows = codes.shape[0], cols = codes.shape[1] * 8 / bits;
    const RawTensor& scales = tensors_.require(module + (embedding ? ".embedding_scale" : ".weight_scale"), {"F32"});
    return open_integers(
        tensors_, {.rows = rows,
                   .cols = cols,
                   .codes = &codes,
                   .scales = &scales,
                   .order = {.bits = bits, .flipped = static_cast<std::uint8_t>(bytes ? 128 : 0)},
                   .others = tensors_of(tensors_, module, {"input_activation_scale", "output_activation_scale"})});
  }

 private:
  // Of the pattern that matches.
  int bits_of(const std::string& module) const {
    int bits = 0;
    for (const auto& [pattern, own] : modules_) {
      if (!pattern.matches(module)) continue;
      if (bits != 0 && bits != own) {  // the first one counts, but the order of the file is not kept
        tensors_.fail(module + ".weight", fmt::format("module_quant_configs says both {} and {} bits", bits, own));
      }
      bits = own;
    }
    return bits == 0 ? bits_ : bits;
  }

  int bits_;
  std::vector<std::pair<ModulePattern, int>> modules_;
};

}  // namespace

WeightReaderKind gemma() {
  return {.method = kGemmaMethod,
          .title = "Gemma QAT",
          .variant = "",
          .version = 1,
          .accepts =
              [](const JsonFields& quantization, const Checkpoint&) {
                if (quantization.text("quant_method") != kGemmaMethod) return false;
                gemma_bits(quantization, 4);
                return true;
              },
          .open = [](const JsonFields& quantization, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<GemmaReader>(quantization, checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers
