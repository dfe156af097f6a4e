#include "model/weights/checkpoint_weights.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

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

// Methods that no reader takes, and why.
struct RefusedMethod {
  std::string_view method, why;
};
constexpr std::string_view kCodeBooks = "its code books need tables larger than a processor's caches";
constexpr RefusedMethod kRefused[] = {
    {"aqlm", kCodeBooks},
    {"quip", kCodeBooks},
    {"quip#", kCodeBooks},
    {"qtip", kCodeBooks},
    {"exl3", kCodeBooks},
    {"vptq", kCodeBooks},
    {"higgs", kCodeBooks},
    {"spqr", "outliers in a sparse matrix are not read"},
    {"exl2", "the layout of ExLlamaV2 is not read"},
    {"gptq_marlin", "weights packed for the Marlin kernel are not read"},
    {"gptq_marlin_24", "weights packed for the Marlin kernel are not read"},
    {"marlin", "weights packed for the Marlin kernel are not read"},
    {"hqq", "the layout of HQQ is not read"},
    {"eetq", "the layout of EETQ is not read"},
    {"quanto", "the layout of quanto is not read"},
    {"fp_quant", "its rotations at run time are not supported"},
    {"sinq", "a second scale along the columns is not supported"},
    {"fouroversix", "the layout of FourOverSix is not read"},
};

// What the configuration says of quantized weights, in whichever file.
std::optional<JsonFields> quantization_of(const Checkpoint& checkpoint) {
  const checkpoint::ConfigFile& config = checkpoint.config;
  const JsonFields fields(config.file, config.json);
  const nlohmann::json* own = fields.find(checkpoint::kQuantizationField);
  if (own == nullptr || config.quantization_file.empty()) return fields.object(checkpoint::kQuantizationField);
  return JsonFields(config.quantization_file, *own);
}

std::unique_ptr<WeightReader> open_quantized(const Checkpoint& checkpoint) {
  const WeightReaderKind* kind = find_reader(checkpoint);
  return kind == nullptr ? nullptr : kind->open(*quantization_of(checkpoint), checkpoint);
}

}  // namespace

const WeightReaderKind* find_reader(const Checkpoint& checkpoint) {
  const auto quantization = quantization_of(checkpoint);
  if (!quantization) return nullptr;
  for (const WeightReaderKind& kind : all_weight_readers()) {
    if (kind.accepts(*quantization, checkpoint)) return &kind;
  }
  const std::string method = quantization->text("quant_method").value_or("");
  const auto* refused = std::ranges::find(kRefused, method, &RefusedMethod::method);
  const std::string reason = refused == std::end(kRefused) ? "" : fmt::format(" ({})", refused->why);
  const std::string why = fmt::format(
      "quantized safetensors of quant_method {} are not supported{}, only of {}; use the original, or a GGUF, AWQ or "
      "GPTQ file of it",
      checkpoint::quote_name(method), reason, known_methods());
  const checkpoint::ConfigFile& config = checkpoint.config;
  if (!config.quantization_file.empty()) quantization->unsupported("quant_method", why);
  JsonFields(config.file, config.json).unsupported(checkpoint::kQuantizationField, why);
}

CheckpointWeights::CheckpointWeights(const Checkpoint& checkpoint)
    : quantized_(open_quantized(checkpoint)), plain_(plain_weights(checkpoint)) {}

bool CheckpointWeights::has(const std::string& name) const {
  return (quantized_ && quantized_->has(name)) || plain_->has(name);
}

std::unique_ptr<StoredWeight> CheckpointWeights::open(const std::string& name, const MatrixShape& shape) const {
  const bool quantized = quantized_ && quantized_->has(name);
  return (quantized ? quantized_ : plain_)->open(name, shape);
}

std::span<const MatrixInfo> CheckpointWeights::matrices() const {
  std::call_once(listed_, [this] {
    if (quantized_) matrices_ = quantized_->matrices();
    std::set<std::string> parts;
    for (const MatrixInfo& matrix : matrices_) {
      for (const auto* tensor : matrix.tensors) parts.insert(tensor->name);
    }
    for (MatrixInfo& matrix : plain_->matrices()) {
      if (!parts.contains(matrix.name)) matrices_.push_back(std::move(matrix));
    }
  });
  return matrices_;
}

}  // namespace millrace::model
