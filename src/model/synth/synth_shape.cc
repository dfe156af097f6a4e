#include "model/synth/synth_shape.h"

#include <array>

namespace millrace::model {
namespace {

constexpr SynthShape tiny(std::string_view name, std::string_view family) {
  return {.name = name,
          .family = family,
          .hidden = 256,
          .layers = 2,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 64,
          .ffn = 512,
          .context = 2048,
          .vocab = 512};
}
constexpr SynthShape tiny_qwen3() {
  SynthShape shape = tiny("tiny-qwen3", "qwen3");
  shape.norm_eps = 1e-6;
  return shape;
}
constexpr SynthShape tiny_values() {
  SynthShape shape = tiny("tiny-values", "llama");
  shape.head_dim = 96;
  shape.value_dim = 64;
  return shape;
}
constexpr SynthShape tiny_sinks() {
  SynthShape shape = tiny("tiny-sinks", "granite_swa");
  shape.layers = 4;
  shape.json = R"({"sliding_window": 128, "attention_multiplier": 0.125,
                   "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]})";
  shape.gguf = R"({"attention.sliding_window": 128, "attention.sliding_window_pattern": 4, "attention.scale": 0.125})";
  return shape;
}
constexpr SynthShape tiny_gate() {
  SynthShape shape = tiny("tiny-gate", "muse_glimmer");
  shape.layers = 4;
  shape.tied_head = false;
  shape.json = R"({"sliding_window": 128})";
  shape.gguf = R"({"attention.sliding_window": 128, "logit_scale": 0.196, "final_logit_softcapping": 20.0})";
  return shape;
}

constexpr SynthShape tiny_qwen3_moe() {
  SynthShape shape = tiny("tiny-qwen3-moe", "qwen3_moe");
  shape.norm_eps = 1e-6;
  shape.ffn = 128;
  shape.json = R"({"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128, "norm_topk_prob": true})";
  shape.gguf = R"({"expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 128})";
  return shape;
}
// Every second layer looks back on 128 tokens.
constexpr SynthShape gpt_oss(std::string_view name, std::int64_t layers, std::int64_t vocab) {
  return {
      .name = name,
      .family = "gpt_oss",
      .hidden = 2880,
      .layers = layers,
      .heads = 64,
      .kv_heads = 8,
      .head_dim = 64,
      .ffn = 2880,
      .context = 131072,
      .vocab = vocab,
      .rope_theta = 150000.0,
      .tied_head = false,
      .json = R"({"attention_bias": true, "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128})",
      .gguf = R"({"expert_count": 32, "expert_used_count": 4, "expert_feed_forward_length": 2880,
                      "attention.sliding_window": 128})",
      .biases = SynthBiases::kAll};
}
constexpr SynthShape tiny_gpt_oss() {
  SynthShape shape = gpt_oss("tiny-gpt-oss", 2, 512);
  shape.hidden = 256;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.ffn = 128;
  shape.context = 2048;
  shape.json = R"({"attention_bias": true, "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": 128})";
  shape.gguf = R"({"expert_count": 8, "expert_used_count": 2, "expert_feed_forward_length": 128,
                   "attention.sliding_window": 128})";
  return shape;
}
constexpr SynthShape gpt_oss_20b() {
  SynthShape shape = gpt_oss("gpt-oss-20b", 24, 201088);
  shape.like = "gpt-oss-20b";
  return shape;
}

constexpr std::array kShapes = {
    tiny("tiny", "llama"),
    tiny_qwen3(),
    tiny_qwen3_moe(),
    tiny_gpt_oss(),
    SynthShape{.name = "qwen3-moe-1b",
               .family = "qwen3_moe",
               .hidden = 1024,
               .layers = 24,
               .heads = 16,
               .kv_heads = 8,
               .head_dim = 64,
               .ffn = 512,
               .context = 32768,
               .vocab = 49152,
               .rope_theta = 1e6,
               .norm_eps = 1e-6,
               .json = R"({"num_experts": 32, "num_experts_per_tok": 8, "moe_intermediate_size": 512,
                           "norm_topk_prob": true})",
               .gguf = R"({"expert_count": 32, "expert_used_count": 8, "expert_feed_forward_length": 512})"},
    SynthShape{.name = "qwen3-30b-a3b",
               .family = "qwen3_moe",
               .hidden = 2048,
               .layers = 48,
               .heads = 32,
               .kv_heads = 4,
               .head_dim = 128,
               .ffn = 6144,
               .context = 40960,
               .vocab = 151936,
               .rope_theta = 1e6,
               .norm_eps = 1e-6,
               .tied_head = false,
               .json = R"({"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
                           "norm_topk_prob": true})",
               .gguf = R"({"expert_count": 128, "expert_used_count": 8, "expert_feed_forward_length": 768})",
               .like = "Qwen3-30B-A3B"},
    gpt_oss("gpt-oss-4l", 4, 16384),
    gpt_oss_20b(),
    tiny_values(),
    tiny_sinks(),
    tiny_gate(),
    SynthShape{.name = "llama-135m",
               .family = "llama",
               .hidden = 576,
               .layers = 30,
               .heads = 9,
               .kv_heads = 3,
               .head_dim = 64,
               .ffn = 1536,
               .context = 8192,
               .vocab = 49152,
               .rope_theta = 100000.0,
               .like = "SmolLM2-135M",
               .measured = "peers-smollm2"},
    SynthShape{.name = "qwen3-0.6b",
               .family = "qwen3",
               .hidden = 1024,
               .layers = 28,
               .heads = 16,
               .kv_heads = 8,
               .head_dim = 128,
               .ffn = 3072,
               .context = 40960,
               .vocab = 151936,
               .rope_theta = 1e6,
               .norm_eps = 1e-6,
               .like = "Qwen3-0.6B"},
    SynthShape{.name = "llama-1b",
               .family = "llama",
               .hidden = 2048,
               .layers = 16,
               .heads = 32,
               .kv_heads = 8,
               .head_dim = 64,
               .ffn = 8192,
               .context = 8192,
               .vocab = 128256,
               .rope_theta = 500000.0,
               .like = "Llama 3.2 1B",
               .measured = "peers-1b-q4_0"},
    SynthShape{.name = "llama-3b",
               .family = "llama",
               .hidden = 3072,
               .layers = 28,
               .heads = 24,
               .kv_heads = 8,
               .head_dim = 128,
               .ffn = 8192,
               .context = 8192,
               .vocab = 128256,
               .rope_theta = 500000.0,
               .like = "Llama 3.2 3B"},
    SynthShape{.name = "llama-8b",
               .family = "llama",
               .hidden = 4096,
               .layers = 32,
               .heads = 32,
               .kv_heads = 8,
               .head_dim = 128,
               .ffn = 14336,
               .context = 8192,
               .vocab = 128256,
               .rope_theta = 500000.0,
               .tied_head = false,
               .like = "Llama 3 8B"},
    SynthShape{.name = "gemma2-2b",
               .family = "gemma2",
               .hidden = 2304,
               .layers = 26,
               .heads = 8,
               .kv_heads = 4,
               .head_dim = 256,
               .ffn = 9216,
               .context = 8192,
               .vocab = 256000,
               .norm_eps = 1e-6,
               .json = R"({"hidden_activation": "gelu_pytorch_tanh", "sliding_window": 4096})",
               .gguf = R"({"attention.sliding_window": 4096, "attn_logit_softcapping": 50.0,
                           "final_logit_softcapping": 30.0})",
               .like = "Gemma 2 2B"},
    SynthShape{.name = "gemma3-1b",
               .family = "gemma3",
               .hidden = 1152,
               .layers = 26,
               .heads = 4,
               .kv_heads = 1,
               .head_dim = 256,
               .ffn = 6912,
               .context = 32768,
               .vocab = 262144,
               .rope_theta = 1e6,
               .norm_eps = 1e-6,
               .json = R"({"model_type": "gemma3_text", "hidden_activation": "gelu_pytorch_tanh",
                           "sliding_window": 512})",
               .gguf = R"({"attention.sliding_window": 512, "rope.freq_base_swa": 10000.0})",
               .like = "Gemma 3 1B",
               .measured = "peers-gemma3-1b-q4_0"},
    SynthShape{.name = "phi3-mini",
               .family = "phi3",
               .hidden = 3072,
               .layers = 32,
               .heads = 32,
               .kv_heads = 32,
               .head_dim = 96,
               .ffn = 8192,
               .context = 4096,
               .vocab = 32064,
               .tied_head = false,
               .fused = true,
               .like = "Phi 3 mini 4k",
               .measured = "peers-phi3-mini-q4_0"},
    SynthShape{.name = "granite-2b",
               .family = "granite",
               .hidden = 2048,
               .layers = 40,
               .heads = 32,
               .kv_heads = 8,
               .head_dim = 64,
               .ffn = 8192,
               .context = 131072,
               .vocab = 49159,
               .rope_theta = 1e7,
               .json = R"({"embedding_multiplier": 12.0, "residual_multiplier": 0.22, "attention_multiplier": 0.015625,
                           "logits_scaling": 8.0})",
               .gguf = R"({"embedding_scale": 12.0, "residual_scale": 0.22, "attention.scale": 0.015625,
                           "logit_scale": 8.0})",
               .like = "Granite 3.3 2B",
               .measured = "peers-granite-2b-q4_0"},
    SynthShape{.name = "olmo2-1b",
               .family = "olmo2",
               .hidden = 2048,
               .layers = 16,
               .heads = 16,
               .kv_heads = 16,
               .head_dim = 128,
               .ffn = 8192,
               .context = 4096,
               .vocab = 100352,
               .rope_theta = 500000.0,
               .norm_eps = 1e-6,
               .tied_head = false,
               .like = "OLMo 2 1B"},
    SynthShape{
        .name = "command-r7b",
        .family = "cohere2",
        .hidden = 4096,
        .layers = 32,
        .heads = 32,
        .kv_heads = 8,
        .head_dim = 128,
        .ffn = 14336,
        .context = 8192,
        .vocab = 256000,
        .rope_theta = 50000.0,
        .json = R"({"layer_norm_eps": 1e-5, "sliding_window": 4096, "logit_scale": 0.25})",
        .gguf = R"({"attention.layer_norm_epsilon": 1e-5, "attention.sliding_window": 4096, "logit_scale": 0.25})",
        .like = "Command R7B"},
    SynthShape{.name = "mpt-7b",
               .family = "mpt",
               .hidden = 4096,
               .layers = 32,
               .heads = 32,
               .kv_heads = 32,
               .head_dim = 128,
               .ffn = 16384,
               .context = 2048,
               .vocab = 50432,
               .json = R"({"attn_config": {"alibi": true}})",
               .gguf = R"({"attention.layer_norm_epsilon": 1e-5, "attention.max_alibi_bias": 8.0})",
               .fused = true,
               .like = "MPT 7B"},
    SynthShape{.name = "qwen2-0.5b",
               .family = "qwen2",
               .hidden = 896,
               .layers = 24,
               .heads = 14,
               .kv_heads = 2,
               .head_dim = 64,
               .ffn = 4864,
               .context = 32768,
               .vocab = 151936,
               .rope_theta = 1e6,
               .norm_eps = 1e-6,
               .biases = SynthBiases::kQkv,
               .like = "Qwen2.5 0.5B"},
    SynthShape{.name = "starcoder-1b",
               .family = "gpt_bigcode",
               .hidden = 2048,
               .layers = 24,
               .heads = 16,
               .kv_heads = 1,
               .head_dim = 128,
               .ffn = 8192,
               .context = 8192,
               .vocab = 49152,
               .json = R"({"hidden_act": "gelu_pytorch_tanh", "multi_query": true,
                           "layer_norm_epsilon": 1e-5})",
               .gguf = R"({"attention.layer_norm_epsilon": 1e-5})",
               .fused = true,
               .like = "StarCoderBase 1B"},
    SynthShape{.name = "xglm-564m",
               .family = "xglm",
               .hidden = 1024,
               .layers = 24,
               .heads = 16,
               .kv_heads = 16,
               .head_dim = 64,
               .ffn = 4096,
               .context = 2048,
               .vocab = 256008,
               .json = R"({"hidden_act": "gelu"})",
               .biases = SynthBiases::kAll,
               .like = "XGLM 564M"},
    SynthShape{.name = "ministral3-3b",
               .family = "ministral3",
               .hidden = 3072,
               .layers = 26,
               .heads = 32,
               .kv_heads = 8,
               .head_dim = 128,
               .ffn = 9216,
               .context = 262144,
               .vocab = 131072,
               .rope_theta = 1e6,
               .json = R"({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0,
                                               "original_max_position_embeddings": 16384, "beta_fast": 32.0,
                                               "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
                                               "llama_4_scaling_beta": 0.1}})",
               .gguf = R"({"rope.scaling.type": "yarn", "rope.scaling.factor": 16.0,
                           "rope.scaling.original_context_length": 16384, "rope.scaling.yarn_beta_fast": 32.0,
                           "rope.scaling.yarn_beta_slow": 1.0, "rope.scaling.yarn_log_multiplier": 1.0,
                           "attention.temperature_scale": 0.1})",
               .like = "Ministral 3 3B"},
    SynthShape{.name = "bitnet-2b",
               .family = "bitnet",
               .hidden = 2560,
               .layers = 30,
               .heads = 20,
               .kv_heads = 5,
               .head_dim = 128,
               .ffn = 6912,
               .context = 4096,
               .vocab = 128256,
               .rope_theta = 500000.0,
               .json = R"({"hidden_act": "relu2"})",
               .like = "BitNet b1.58 2B"},
    SynthShape{.name = "apertus-8b",
               .family = "apertus",
               .hidden = 4096,
               .layers = 32,
               .heads = 32,
               .kv_heads = 8,
               .head_dim = 128,
               .ffn = 21504,
               .context = 65536,
               .vocab = 131072,
               .rope_theta = 1.2e7,
               .tied_head = false,
               .json = R"({"hidden_act": "xielu"})",
               .gguf = R"({":xielu.alpha_p": 0.5, ":xielu.alpha_n": 0.5, ":xielu.beta": 0.5, ":xielu.eps": -1e-6})",
               .like = "Apertus 8B"},
};

}  // namespace

std::span<const SynthShape> synth_shapes() { return kShapes; }

const SynthShape* find_synth_shape(std::string_view name) noexcept {
  for (const SynthShape& shape : kShapes) {
    if (shape.name == name) return &shape;
  }
  return nullptr;
}

}  // namespace millrace::model
