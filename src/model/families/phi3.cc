// Phi 3, 3.5, 4 and 4-mini (arXiv:2404.14219, arXiv:2412.08905): Llama's layer with fused tensors and longrope. 4
// multimodal has low-rank adapters for images and for sounds, which text does without.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr std::string_view kPhi4Mm = "Phi4MMForCausalLM";

void name_phi4_mm(ModelSpec& spec) {
  each_attention(spec, [](AttentionParams& a) {
    a.names.qkv += ".base_layer";
    a.names.o += ".base_layer";
  });
  each_mlp(spec, [](MlpParams& mlp) {
    mlp.names.gate_up += ".base_layer";
    mlp.names.down += ".base_layer";
  });
  spec.names.ignored.insert(spec.names.ignored.end(), {"*.lora_A.*", "*.lora_B.*", "model.embed_tokens_extend.*"});
}

}  // namespace

ModelFamily phi3() {
  return {.name = "phi3",
          .hf = {"Phi3ForCausalLM", "Phi4MultimodalForCausalLM", kPhi4Mm},
          .gguf = {"phi3"},
          .defaults = {.norm_eps = 1e-5, .code_is_known = true},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) each_mlp(spec, [](MlpParams& mlp) { mlp.names.gate_up = "blk.{}.ffn_up"; });
            if (config.architecture == kPhi4Mm) name_phi4_mm(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
