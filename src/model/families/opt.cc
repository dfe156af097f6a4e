// OPT (arXiv:2205.01068): layer norms, learned positions from row 2 on, biases everywhere, an MLP of ReLU; 350M with
// norms behind the sums and embeddings of another size.
#include "model/fairseq_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr std::string_view kOptText = R"({"vocab_size": 50272, "hidden_size": 768, "ffn_dim": 3072,
    "num_hidden_layers": 12, "num_attention_heads": 12, "max_position_embeddings": 2048})";
constexpr ConfigField kNormBefore{.json = {"do_layer_norm_before"}, .neutral = "true"};
constexpr ConfigField kEmbeddingSize{.json = {"word_embed_proj_dim"}, .neutral = "*"};
constexpr ConfigField kNoFinalNorm{.json = {"_remove_final_layer_norm"}};
constexpr ConfigField kOptBias{.json = {"enable_bias"}, .neutral = "*"};  // the tensors tell
constexpr ConfigField kNormWeights{.json = {"layer_norm_elementwise_affine"}, .neutral = "true"};

// x = norm(x + f(x)).
void put_norms_behind(ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) {
    layer.block<AttentionParams>().output.sum_norm_name = std::exchange(layer.get<AttentionParams>().names.norm, "");
    layer.block<MlpParams>().output.sum_norm_name = std::exchange(layer.get<MlpParams>().names.norm, "");
  }
}

}  // namespace

ModelFamily opt() {
  return {.name = "opt",
          .hf = {"OPTForCausalLM"},
          .gguf = {},
          .text_types = {{"opt", kOptText}},
          .defaults = {.activation = "relu", .norm_eps = 1e-5, .tied_head = true, .rotary = false},
          .fields = {kNormBefore, kEmbeddingSize, kNoFinalNorm, kOptBias, kNormWeights},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            view.has(kOptBias);
            use_layer_norms(spec, true);
            use_learned_positions(spec);
            spec.position_offset = 2;
            name_fairseq_layers(spec, "model.decoder.");
            spec.names.final_norm = "model.decoder.final_layer_norm";
            each_mlp(spec, [](MlpParams& mlp) { mlp.gated = false; });
            const bool before = view.boolean(kNormBefore).value_or(true);
            if (!before) put_norms_behind(spec);
            if (!before || view.boolean(kNoFinalNorm).value_or(false)) spec.names.final_norm.clear();
            if (!view.boolean(kNormWeights).value_or(true)) {
              each_norm(spec, [](NormSpec& norm) { norm.weight = norm.bias = false; });
            }
            const std::int64_t width = view.integer(kEmbeddingSize, checkpoint::kCounts).value_or(spec.hidden_size);
            if (width != spec.hidden_size) {
              spec.embedding_size = width;
              spec.names.project_in = "model.decoder.project_in";
              spec.names.project_out = "model.decoder.project_out";
            }
            return spec;
          }};
}

}  // namespace millrace::model::families
