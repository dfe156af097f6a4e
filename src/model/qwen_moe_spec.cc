#include "model/qwen_moe_spec.h"

namespace millrace::model {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kSparseStep{.json = {"decoder_sparse_step"}, .neutral = "*"};
constexpr ConfigField kMlpLayers{.json = {"mlp_only_layers"}};

}  // namespace

std::vector<ConfigField> qwen_moe_fields() {
  std::vector<ConfigField> fields = moe_fields();
  fields.insert(fields.end(), {kSparseStep, kMlpLayers});
  return fields;
}

void use_qwen_experts(checkpoint::ConfigView& view, ModelSpec& spec, const ExpertsParams& experts) {
  const std::int64_t step = view.integer(kSparseStep, checkpoint::kCounts).value_or(1);
  const std::vector<double> dense = view.numbers(kMlpLayers).value_or(std::vector<double>());
  use_experts(spec, experts, [&](std::int64_t layer) {
    return std::ranges::find(dense, static_cast<double>(layer)) == dense.end() && (layer + 1) % step == 0;
  });
}

}  // namespace millrace::model
