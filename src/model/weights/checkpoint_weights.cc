#include "model/weights/checkpoint_weights.h"

#include <set>

#include "base/error.h"
#include "checkpoint/quote_name.h"
#include "model/weights/plain_weights.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

std::string known_methods() {
  std::string text;
  for (const WeightReaderKind& kind : all_weight_readers())
    text += (text.empty() ? "" : ", ") + std::string(kind.method);
  return text;
}

std::unique_ptr<WeightReader> open_quantized(const Checkpoint& checkpoint) {
  const JsonFields fields(checkpoint.config.file, checkpoint.config.json);
  const auto quantization = fields.object(checkpoint::kQuantizationField);
  if (!quantization) return nullptr;
  for (const WeightReaderKind& kind : all_weight_readers()) {
    if (kind.accepts(*quantization, checkpoint)) return kind.open(*quantization, checkpoint);
  }
  const std::string method = quantization->text("quant_method").value_or("");
  fields.unsupported(checkpoint::kQuantizationField,
                     fmt::format("quantized safetensors of quant_method {} are not supported, only of {}; use the "
                                 "original or a GGUF file",
                                 checkpoint::quote_name(method), known_methods()));
}

}  // namespace

CheckpointWeights::CheckpointWeights(const Checkpoint& checkpoint)
    : quantized_(open_quantized(checkpoint)), plain_(plain_weights(checkpoint)) {}

bool CheckpointWeights::has(const std::string& name) const {
  return (quantized_ && quantized_->has(name)) || plain_->has(name);
}

std::unique_ptr<StoredWeight> CheckpointWeights::open(const std::string& name, std::int64_t rows, std::int64_t cols,
                                                      bool inputs_first) const {
  const bool quantized = quantized_ && quantized_->has(name);
  return (quantized ? quantized_ : plain_)->open(name, rows, cols, inputs_first);
}

std::vector<MatrixInfo> CheckpointWeights::quantized_matrices() const {
  return quantized_ ? quantized_->matrices() : std::vector<MatrixInfo>();
}

std::vector<MatrixInfo> CheckpointWeights::plain_matrices() const {
  std::set<std::string> parts;
  for (const MatrixInfo& matrix : quantized_matrices()) {
    const auto weight = quantized_->open(matrix.name, matrix.rows, matrix.cols, false);
    for (const auto* tensor : weight->tensors) {
      parts.insert(tensor->name);
    }
  }
  std::vector<MatrixInfo> matrices = plain_->matrices();
  std::erase_if(matrices, [&](const MatrixInfo& matrix) { return parts.contains(matrix.name); });
  return matrices;
}

}  // namespace millrace::model
