// MiniCPM 1, 2, 4 and 4.1 (arXiv:2404.06395): Llama's layer with factors for embeddings, what blocks add, and logits.
#include "model/llama_spec.h"

#include <cmath>

#include "base/log.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kEmbedding{.json = {"scale_emb"}, .gguf = {"embedding_scale"}, .neutral = "1"};
constexpr ConfigField kDepth{.json = {"scale_depth"}};  // times 1 / sqrt(layers)
constexpr ConfigField kMinicpmResidual{.gguf = {"residual_scale"}, .neutral = "1.0"};
constexpr ConfigField kSparse{.json = {"sparse_config"}};
constexpr ConfigField kBaseWidth{.json = {"dim_model_base"}};  // logits shrink as the model is wider than this
constexpr ConfigField kWidths{.gguf = {"logit_scale"}, .neutral = "1.0"};

// Attention over chosen blocks (InfLLM v2, arXiv:2509.24663) begins where a sequence has `dense_len` tokens: here the
// context ends there.
void end_before_sparse_attention(checkpoint::ConfigView& view, ModelSpec& spec) {
  const nlohmann::json* sparse = view.json(kSparse);
  if (sparse == nullptr) return;
  if (!sparse->is_object()) view.bad_value(kSparse, "expected an object");
  const checkpoint::JsonFields fields(view.file(), *sparse, "sparse_config.");
  const std::int64_t dense = fields.integer("dense_len").value_or(8192);
  if (dense < 2) fields.wrong_type("dense_len", "2 or more: attention over chosen blocks is not supported");
  if (dense > spec.context_length) return;
  spec.context_length = dense - 1;
  log::info(
      "{}: sparse_config: attention over chosen blocks is not supported; the context ends at {} tokens, before it",
      view.file(), spec.context_length);
}

}  // namespace

ModelFamily minicpm() {
  return {.name = "minicpm",
          .hf = {"MiniCPMForCausalLM"},
          .gguf = {"minicpm"},
          .defaults = {.tied_head = true, .code_is_known = true},
          .fields = {kEmbedding, kDepth, kMinicpmResidual, kSparse, kBaseWidth, kWidths},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            end_before_sparse_attention(view, spec);
            const double layers = std::sqrt(static_cast<double>(config.n_layers));
            const auto width = static_cast<double>(config.hidden_size);
            if (view.gguf()) {
              keep_rotary_pairs(spec);
              // Old files have none of the factors: those of the first models.
              spec.embedding_scale = static_cast<float>(view.positive_number(kEmbedding).value_or(12.0));
              scale_residual(spec, static_cast<float>(view.positive_number(kMinicpmResidual).value_or(1.4 / layers)));
              spec.logit_scale = static_cast<float>(1.0 / view.positive_number(kWidths).value_or(width / 256.0));
              return spec;
            }
            spec.embedding_scale = static_cast<float>(view.positive_number(kEmbedding).value_or(1.0));
            scale_residual(spec, static_cast<float>(view.positive_number(kDepth).value_or(1.0) / layers));
            spec.logit_scale = static_cast<float>(view.positive_number(kBaseWidth).value_or(1.0) / width);
            return spec;
          }};
}

}  // namespace millrace::model::families
