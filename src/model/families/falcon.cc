// Falcon (arXiv:2311.16867): 7B with one key/value head, attention and MLP in parallel behind one layer norm; 40B and
// 11B with a norm for each or one; RW with ALiBi, one after the other.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kNewDecoder{.json = {"new_decoder_architecture"}, .neutral = "*"};
constexpr ConfigField kFalconMultiQuery{.json = {"multi_query"}, .neutral = "*"};
constexpr ConfigField kFalconParallel{.json = {"parallel_attn"}, .neutral = "*"};
constexpr ConfigField kNorms{.json = {"num_ln_in_parallel_attn"}, .neutral = "*"};
constexpr ConfigField kAlibi{.json = {"alibi"}, .neutral = "*"};
constexpr ConfigField kFalconBias{.json = {"bias"}, .neutral = "*"};  // the tensors tell
constexpr ConfigField kFfn{.json = {"ffn_hidden_size"}, .neutral = "*"};

struct Variant {
  bool new_decoder = false, multi_query = true, parallel = true, alibi = false, two_norms = false;
};

Variant variant_of(checkpoint::ConfigView& view, bool second_norm_in_gguf) {
  view.has(kFalconBias);
  if (view.gguf()) return {.two_norms = second_norm_in_gguf};
  Variant v{.new_decoder = view.boolean(kNewDecoder).value_or(false),
            .multi_query = view.boolean(kFalconMultiQuery).value_or(true),
            .parallel = view.boolean(kFalconParallel).value_or(true),
            .alibi = view.boolean(kAlibi).value_or(false)};
  const std::int64_t norms = view.integer(kNorms, {1, 2}).value_or(v.new_decoder ? 2 : 1);
  v.two_norms = v.new_decoder && norms == 2;
  return v;
}

void name_falcon(ModelSpec& spec, const Variant& variant) {
  const std::string layer = "transformer.h.{}.";
  spec.names.embedding = "transformer.word_embeddings";
  spec.names.final_norm = "transformer.ln_f";
  each_attention(spec, [&](AttentionParams& a) {
    a.fused = FusedQkv::kGrouped;
    a.names = {.norm = layer + (variant.two_norms ? "ln_attn" : "input_layernorm"),
               .qkv = layer + "self_attention.query_key_value",
               .o = layer + "self_attention.dense"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + (variant.two_norms ? "ln_mlp" : "post_attention_layernorm"),
                 .up = layer + "mlp.dense_h_to_4h",
                 .down = layer + "mlp.dense_4h_to_h"};
  });
}

}  // namespace

ModelFamily falcon() {
  return {.name = "falcon",
          .hf = {"FalconForCausalLM", "RWForCausalLM"},
          .gguf = {"falcon"},
          .defaults = {.activation = "gelu",
                       .json = R"({"max_position_embeddings": 2048})",
                       .norm_eps = 1e-5,
                       .tied_head = true,
                       .ffn_factor = 4,
                       .code_is_known = true},
          .fields = {kNewDecoder, kFalconMultiQuery, kFalconParallel, kNorms, kAlibi, kFalconBias, kFfn},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            const Variant variant = variant_of(view, config.second_norm);
            if (const auto width = view.integer(kFfn, checkpoint::kCounts)) config.intermediate_size = *width;
            if (!view.gguf() && !variant.new_decoder) config.n_kv_heads = variant.multi_query ? 1 : config.n_heads;
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            each_mlp(spec, [](MlpParams& mlp) {
              mlp.gated = false;
              mlp.activation = backend::Activation::kGelu;
            });
            if (view.gguf() && variant.two_norms) {
              each_attention(spec, [](AttentionParams& a) { a.names.norm = "blk.{}.attn_norm_2"; });
              each_mlp(spec, [](MlpParams& mlp) { mlp.names.norm = "blk.{}.attn_norm"; });
            }
            if (!view.gguf()) name_falcon(spec, variant);
            if (variant.alibi) {
              rotate_nothing(spec);
              each_attention(spec, [](AttentionParams& a) { a.alibi = a.scale; });  // scaled with the scores
            }
            if (variant.two_norms) {
              run_in_parallel(spec);
            } else if (variant.parallel || variant.new_decoder) {
              run_behind_one_norm(spec);
            }
            return spec;
          }};
}

}  // namespace millrace::model::families
