// Granite 4.0 (IBM, 2025) without state-space layers and without experts, as its Micro, 1B and 350M are: Granite 3's
// layer with the MLP of what are shared experts elsewhere. GGUF calls these "granite".
#include "model/granite_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kGraniteExperts{.json = {"num_local_experts"}, .neutral = "*"};
constexpr ConfigField kSharedWidth{.json = {"shared_intermediate_size"}};
constexpr ConfigField kGranitePositions{.json = {"position_embedding_type"}, .neutral = "*"};

}  // namespace

ModelFamily granite_hybrid() {
  std::vector<ConfigField> fields = granite_fields();
  fields.insert(fields.end(), {kGraniteExperts, kSharedWidth, kGranitePositions});
  return {.name = "granitemoehybrid",
          .hf = {"GraniteMoeHybridForCausalLM"},
          .gguf = {},
          .defaults = {.json = R"({"attention_multiplier": 1.0, "shared_intermediate_size": 1024})"},
          .fields = fields,
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            if (view.integer(kGraniteExperts).value_or(0) > 0) {
              view.unsupported(kGraniteExperts, "experts are not supported");
            }
            ModelConfig config = read;
            config.intermediate_size = view.required_integer(kSharedWidth, checkpoint::kCounts);
            ModelSpec spec = granite_spec(view, config);
            if (view.text(kGranitePositions).value_or("") != "rope") rotate_nothing(spec);
            each_mlp(spec, [](MlpParams& mlp) {
              mlp.names.gate_up = "model.layers.{}.shared_mlp.input_linear";
              mlp.names.down = "model.layers.{}.shared_mlp.output_linear";
            });
            return spec;
          }};
}

}  // namespace millrace::model::families
