// Baichuan 1 and 2 (arXiv:2309.10305): Llama's layer with queries, keys and values in one tensor. The models of 7B
// rotate, those of 13B have ALiBi; nothing in their files says so. Baichuan 2 takes the rows of its head as unit
// vectors.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

// Of the models of 7B: those that rotate have a table of so many positions.
constexpr ConfigField kRotated{.json = {"max_position_embeddings"}};
constexpr ConfigField kZLoss{.json = {"z_loss_weight"}, .neutral = "*"};  // of training; Baichuan 2 has it
constexpr std::int64_t kLayersOf13B = 40;
constexpr std::int64_t kVocabularyOf2 = 125696;

}  // namespace

ModelFamily baichuan() {
  return {.name = "baichuan",
          .hf = {"BaichuanForCausalLM", "BaiChuanForCausalLM"},
          .gguf = {"baichuan"},
          .defaults = {.code_is_known = true},
          .fields = {kZLoss},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            const bool second = view.has(kZLoss) || config.vocab_size == kVocabularyOf2;
            // The rows of a GGUF file are taken as they are, as llama.cpp does.
            spec.unit_head = second && !view.gguf();
            if (view.gguf()) {
              keep_rotary_pairs(spec);
            } else {
              each_attention(spec, [](AttentionParams& a) { a.names.qkv = "model.layers.{}.self_attn.W_pack"; });
            }
            if (config.n_layers == kLayersOf13B || (!view.gguf() && !view.has(kRotated))) {
              rotate_nothing(spec);
              each_attention(spec, [](AttentionParams& a) { a.alibi = 1.0f; });
            }
            return spec;
          }};
}

}  // namespace millrace::model::families
