// Granite 3's mixtures (IBM, 2024): the layers of Granite with experts, perhaps with one that sees every row.
#include "model/granite_spec.h"
#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kAlwaysOnWidth{.json = {"shared_intermediate_size"}};

}  // namespace

ModelFamily granite_moe() {
  std::vector<checkpoint::ConfigField> fields = granite_fields();
  for (const auto& field : moe_fields()) fields.push_back(field);
  fields.push_back(kAlwaysOnWidth);
  return {.name = "granitemoe",
          .hf = {"GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM"},
          .gguf = {"granitemoe"},
          .defaults = {.json = R"({"attention_multiplier": 1.0})"},
          .fields = fields,
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = granite_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            ExpertsParams experts = read_experts(view, spec, {.router = "softmax_of_chosen"});
            if (!view.gguf()) {
              experts.shared_width = view.integer(kAlwaysOnWidth, {0, checkpoint::kMaxCount}).value_or(0);
              ExpertNames& names = experts.names;
              const std::string mixture = "model.layers.{}.block_sparse_moe.", shared = "model.layers.{}.shared_mlp.";
              names.router = mixture + "router.layer";
              names.gate_up = mixture + "input_linear";
              names.stacked_down = mixture + "output_linear";
              names.whole_stacks = false;
              names.shared_gate_up = shared + "input_linear";
              names.shared_down = shared + "output_linear";
            }
            use_experts(spec, experts);
            return spec;
          }};
}

}  // namespace millrace::model::families
