// Apertus (arXiv:2509.14233): Llama's layer with norms of heads and an MLP of xIELU, whose parameters each layer
// learns.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

// In GGUF; safetensors have them as tensors.
constexpr ConfigField kAlphaP{.gguf = {":xielu.alpha_p"}}, kAlphaN{.gguf = {":xielu.alpha_n"}},
    kBeta{.gguf = {":xielu.beta"}}, kEps{.gguf = {":xielu.eps"}};

// Rows of the head of 1.5, whose tokens of images and sounds are never answers.
constexpr ConfigField kHeadRows{.json = {"output_vocab_size"}};
constexpr std::string_view kApertus15Text = R"({"vocab_size": 266752, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "max_position_embeddings": 65536})";

void read_parameters(checkpoint::ConfigView& view, ModelSpec& spec) {
  const auto list = [&](const ConfigField& field) {
    auto values = view.numbers(field);
    if (!values || values->size() != spec.layers.size()) {
      view.bad_value(field,
                     fmt::format("expected {} numbers, found {}", spec.layers.size(), values ? values->size() : 0));
    }
    return *std::move(values);
  };
  const auto p = list(kAlphaP), n = list(kAlphaN), beta = list(kBeta), eps = list(kEps);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    spec.layers[i].get<MlpParams>().parameters = xielu_parameters(p[i], n[i], beta[i], eps[i]);
  }
}

}  // namespace

ModelFamily apertus() {
  return {.name = "apertus",
          .hf = {"ApertusForCausalLM"},
          .gguf = {"apertus"},
          .text_types = {{"apertus1p5_text", kApertus15Text}},
          .defaults = {.activation = "xielu", .json = R"({"rope_theta": 12000000.0})", .norm_eps = 1e-5},
          .fields = {kAlphaP, kAlphaN, kBeta, kEps, kHeadRows},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            if (view.integer(kHeadRows).value_or(config.vocab_size) != config.vocab_size) {
              view.unsupported(kHeadRows, "a head of fewer tokens than the embedding has is not supported");
            }
            ModelSpec spec = llama_spec(view, config);
            add_head_norms(spec);
            each_attention(spec, [&](AttentionParams& a) {
              if (!view.gguf()) a.names.norm = "model.layers.{}.attention_layernorm";
            });
            each_mlp(spec, [&](MlpParams& mlp) {
              mlp.gated = false;
              if (view.gguf()) return;
              mlp.names.norm = "model.layers.{}.feedforward_layernorm";
              mlp.names.xielu = "model.layers.{}.mlp.act_fn.";
            });
            if (view.gguf()) read_parameters(view, spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
