// XGLM (arXiv:2112.10668): layer norms, computed positions, biases everywhere, embeddings times the root of their size.
#include "model/fairseq_spec.h"

#include <cmath>

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kScaled{.json = {"scale_embedding"}, .neutral = "*"};

}  // namespace

ModelFamily xglm() {
  return {.name = "xglm",
          .hf = {"XGLMForCausalLM"},
          .gguf = {},
          .defaults = {.activation = "gelu", .norm_eps = 1e-5, .tied_head = true, .rotary = false},
          .fields = {kScaled},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            rotate_nothing(spec);
            spec.positions = PositionKind::kSinusoidal;
            spec.position_offset = 2;
            const bool scaled = view.boolean(kScaled).value_or(true);
            spec.embedding_scale = scaled ? std::sqrt(static_cast<float>(spec.hidden_size)) : 1.0f;
            name_fairseq_layers(spec, "model.");
            spec.names.ignored.emplace_back("model.embed_positions.*");
            each_mlp(spec, [](MlpParams& mlp) { mlp.gated = false; });
            return spec;
          }};
}

}  // namespace millrace::model::families
