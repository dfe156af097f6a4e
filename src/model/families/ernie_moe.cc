// ERNIE 4.5 with experts (Baidu, 2025): the dense one's layer, with a softmax whose choice has a bias.
#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kErnieMoeBias{.json = {"use_bias"}, .neutral = "*"};  // the tensors tell
constexpr ConfigField kErnieSparseStep{
    .json = {"moe_layer_interval"}, .gguf = {"interleave_moe_layer_step"}, .neutral = "*"};
constexpr ConfigField kErnieFirstSparse{
    .json = {"moe_layer_start_index"}, .gguf = {"leading_dense_block_count"}, .neutral = "*"};
constexpr ConfigField kErnieLastSparse{.json = {"moe_layer_end_index"}, .neutral = "-1"};
constexpr ConfigField kErnieLeastSum{.json = {"moe_norm_min"}, .neutral = "*"};
constexpr ConfigField kErnieShared{.json = {"moe_num_shared_experts"}, .gguf = {"expert_shared_count"}, .neutral = "*"};

void use_ernie_experts(checkpoint::ConfigView& view, ModelSpec& spec, const ExpertsParams& experts) {
  const std::int64_t step = view.integer(kErnieSparseStep, checkpoint::kCounts).value_or(1);
  const std::int64_t first = view.integer(kErnieFirstSparse, {0, checkpoint::kMaxCount}).value_or(0);
  const std::int64_t end = view.integer(kErnieLastSparse, {-1, checkpoint::kMaxCount}).value_or(-1);
  const std::int64_t last = end < 0 ? std::ssize(spec.layers) - 1 : end;
  use_experts(spec, experts,
              [&](std::int64_t layer) { return (layer + 1) % step == 0 && layer >= first && layer <= last; });
}

}  // namespace

ModelFamily ernie_moe() {
  std::vector<ConfigField> fields = moe_fields();
  fields.insert(fields.end(),
                {kErnieMoeBias, kErnieSparseStep, kErnieFirstSparse, kErnieLastSparse, kErnieLeastSum, kErnieShared});
  return {.name = "ernie4_5_moe",
          .hf = {"Ernie4_5_MoeForCausalLM"},
          .gguf = {"ernie4_5-moe"},
          .defaults = {.json = R"({"num_key_value_heads": 4, "rope_theta": 500000.0, "moe_intermediate_size": 1536,
                                   "moe_num_shared_experts": 2, "moe_layer_start_index": 1})",
                       .norm_eps = 1e-5,
                       .tied_head = true,
                       .code_is_known = true},
          .fields = fields,
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            view.has(kErnieMoeBias);
            ModelSpec spec = llama_spec_without_mtp(view, config);
            spec.names.ignored.emplace_back("model.mtp_*");
            keep_rotary_pairs(spec);
            const double least = view.positive_number(kErnieLeastSum).value_or(1e-12);
            ExpertsParams experts = read_experts(view, spec,
                                                 {.experts = 64,
                                                  .chosen = 6,
                                                  .floor = static_cast<float>(least),
                                                  .choice_bias = "mlp.moe_statics.e_score_correction_bias"});
            // The width that GGUF has for it is another.
            const std::int64_t shared = view.integer(kErnieShared, {0, checkpoint::kMaxCount}).value_or(0);
            experts.shared_width = shared * experts.width;
            use_ernie_experts(view, spec, experts);
            return spec;
          }};
}

}  // namespace millrace::model::families
