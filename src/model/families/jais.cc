// Jais 1 (arXiv:2308.16149): GPT-2's layer with ALiBi, a gated MLP, scores divided by the size of a head, and factors
// of embeddings and logits, which GGUF holds within the weights.
#include "model/gpt2_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kJaisPositions{.json = {"position_embedding_type"}, .neutral = "*"};
constexpr ConfigField kJaisDivided{.json = {"mup_scale_qk_dot_by_d", "scale_qk_dot_by_d"}, .neutral = "*"};
constexpr ConfigField kJaisEmbedding{.json = {"mup_embeddings_scale", "embeddings_scale"}, .neutral = "1.0"};
constexpr ConfigField kJaisLogits{.json = {"mup_width_scale", "width_scale"}, .neutral = "1.0"};
constexpr ConfigField kJaisAlpha{.json = {"mup_output_alpha"}, .neutral = "1.0"};
constexpr ConfigField kJaisSlopes{.gguf = {"attention.max_alibi_bias"}};

std::vector<ConfigField> jais_fields() {
  std::vector<ConfigField> all = gpt2_fields();
  all.insert(all.end(), {kJaisPositions, kJaisDivided, kJaisEmbedding, kJaisLogits, kJaisAlpha, kJaisSlopes});
  return all;
}

}  // namespace

ModelFamily jais() {
  ConfigDefaults defaults = gpt2_defaults("swiglu");
  defaults.code_is_known = true;
  return {.name = "jais",
          .hf = {"JAISLMHeadModel"},
          .gguf = {"jais"},
          .defaults = defaults,
          .fields = jais_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            reject_gpt2_variants(view);
            if (view.text(kJaisPositions).value_or("alibi") != "alibi") {
              view.unsupported(kJaisPositions, "only alibi is supported");
            }
            ModelConfig config = read;
            if (config.activation != "swiglu") {
              throw_load_error(ErrorCode::kUnsupported, "activation_function",
                               "{}: activation_function: only swiglu is supported", view.file());
            }
            config.activation = "silu";
            ModelSpec spec = gpt2_spec(view, config);
            spec.positions = PositionKind::kNone;
            spec.transposed_linears = !view.gguf();
            spec.names.ignored.emplace_back("transformer.relative_pe.slopes");
            const bool divided = view.boolean(kJaisDivided).value_or(view.gguf());
            const double slopes = view.number(kJaisSlopes).value_or(8.0);
            each_attention(spec, [&](AttentionParams& a) {
              a.alibi = 1.0f;
              a.alibi_max = static_cast<float>(slopes);
              if (divided) a.scale = 1.0f / static_cast<float>(a.head_dim);
            });
            each_mlp(spec, [&](MlpParams& mlp) {
              mlp.gated = true;
              if (!view.gguf()) mlp.names.gate = "transformer.h.{}.mlp.c_fc2";
            });
            spec.embedding_scale = static_cast<float>(view.positive_number(kJaisEmbedding).value_or(1.0));
            spec.logit_scale = static_cast<float>(view.positive_number(kJaisLogits).value_or(1.0) *
                                                  view.positive_number(kJaisAlpha).value_or(1.0));
            return spec;
          }};
}

}  // namespace millrace::model::families
