// NanoChat (Karpathy): norms without weights, also of embeddings and, behind the rotation, of heads; rotation by minus
// the angle, an MLP of squared ReLU, capped logits.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kNanochatLogitCap{.json = {"final_logit_softcapping"}};

}  // namespace

ModelFamily nanochat() {
  return {.name = "nanochat",
          .hf = {"NanoChatForCausalLM"},
          .gguf = {},
          .defaults = {.activation = "relu2", .json = R"({"final_logit_softcapping": 15.0})"},
          .fields = {kNanochatLogitCap},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            spec.names.embedding_norm = "model.norm.embedding";
            add_head_norms(spec);
            each_norm(spec, [](NormSpec& norm) { norm.weight = false; });
            for (RopeConfig& rope : spec.ropes) rope.reversed = true;
            each_attention(spec, [](AttentionParams& a) { a.q_k_norm->after_rotation = true; });
            each_mlp(spec, [](MlpParams& mlp) {
              mlp.gated = false;
              mlp.names.up = "model.layers.{}.mlp.fc1";
              mlp.names.down = "model.layers.{}.mlp.fc2";
            });
            spec.logit_softcap = static_cast<float>(view.positive_number(kNanochatLogitCap).value_or(0.0));
            return spec;
          }};
}

}  // namespace millrace::model::families
