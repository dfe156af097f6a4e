// MiniCPM 1, 2 and 4 (arXiv:2404.06395): Llama's layer with factors for embeddings, what blocks add, and logits.
#include "model/llama_spec.h"

#include <cmath>

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kEmbedding{.json = {"scale_emb"}, .gguf = {"embedding_scale"}, .neutral = "1"};
constexpr ConfigField kDepth{.json = {"scale_depth"}};  // times 1 / sqrt(layers)
constexpr ConfigField kMinicpmResidual{.gguf = {"residual_scale"}, .neutral = "1.0"};
constexpr ConfigField kBaseWidth{.json = {"dim_model_base"}};  // logits shrink as the model is wider than this
constexpr ConfigField kWidths{.gguf = {"logit_scale"}, .neutral = "1.0"};

}  // namespace

ModelFamily minicpm() {
  return {.name = "minicpm",
          .hf = {"MiniCPMForCausalLM"},
          .gguf = {"minicpm"},
          .defaults = {.tied_head = true, .code_is_known = true},
          .fields = {kEmbedding, kDepth, kMinicpmResidual, kBaseWidth, kWidths},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
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
