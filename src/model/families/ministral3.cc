// Ministral 3 (arXiv:2601.08584): Mistral's layer with yarn, and queries that grow with the position.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kRope{.json = {"rope_parameters", "rope_scaling"}};
constexpr checkpoint::ConfigField kGrowth{.gguf = {"attention.temperature_scale"}};

double growth_of(checkpoint::ConfigView& view) {
  if (view.gguf()) return view.number(kGrowth).value_or(0.0);
  const auto rope = view.object(kRope);
  return rope ? rope->number("llama_4_scaling_beta").value_or(0.0) : 0.0;
}

}  // namespace

ModelFamily ministral3() {
  return {.name = "ministral3",
          .hf = {"Ministral3ForCausalLM"},
          .gguf = {"mistral3"},
          .defaults = {.json = R"({"head_dim": 128})", .norm_eps = 1e-5},
          .fields = {kGrowth},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            const double growth = growth_of(view);
            const auto original = static_cast<double>(config.rope.scaling.original_context);
            if (growth == 0.0 || original == 0.0) return spec;
            spec.query_scale = {.factor = growth, .period = original, .offset = 0.0};
            each_attention(spec, [](AttentionParams& a) { a.scales_query = true; });
            return spec;
          }};
}

}  // namespace millrace::model::families
