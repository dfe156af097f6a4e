#include "model/synth/synth_speculators.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace millrace::model {
namespace {

constexpr std::int64_t kMedusaHeads = 4;

class SpeculatorLayout {
 public:
  SpeculatorLayout(SynthModel& model, const SynthShape& shape, std::int64_t vocabulary)
      : model_(model), shape_(shape), vocabulary_(vocabulary) {}

  nlohmann::ordered_json medusa() {
    for (std::int64_t head = 0; head < kMedusaHeads; ++head) {
      const std::string name = "medusa_head." + std::to_string(head) + ".";
      matrix(name + "0.linear.weight", shape_.hidden, shape_.hidden);
      ones(name + "0.linear.bias");
      matrix(name + "1.weight", vocabulary_, shape_.hidden);
    }
    return {{"medusa_num_heads", kMedusaHeads}, {"medusa_num_layers", 1}};
  }
  nlohmann::ordered_json eagle() {
    matrix("fc.weight", shape_.hidden, 2 * shape_.hidden);
    layer("layers.0.", shape_.hidden);
    return config("LlamaForCausalLMEagle");
  }
  nlohmann::ordered_json eagle3() {
    matrix("fc.weight", shape_.hidden, 3 * shape_.hidden);
    layer("midlayer.", 2 * shape_.hidden);
    for (const char* norm : {"midlayer.input_layernorm.weight", "midlayer.hidden_norm.weight", "norm.weight"})
      ones(norm);
    matrix("lm_head.weight", vocabulary_, shape_.hidden);
    nlohmann::ordered_json json = config("LlamaForCausalLMEagle3");
    json["draft_vocab_size"] = vocabulary_;
    if (shape_.layers < 7) json["eagle_aux_hidden_state_layer_ids"] = {0, shape_.layers - 1, shape_.layers};
    return json;
  }

 private:
  // Values are of the size of keys whatever the model's are: config.json of a head has no field for them.
  void layer(const std::string& prefix, std::int64_t inputs) {
    const std::int64_t q_size = shape_.heads * shape_.head_dim, kv_size = shape_.kv_heads * shape_.head_dim;
    matrix(prefix + "self_attn.q_proj.weight", q_size, inputs);
    matrix(prefix + "self_attn.k_proj.weight", kv_size, inputs);
    matrix(prefix + "self_attn.v_proj.weight", kv_size, inputs);
    matrix(prefix + "self_attn.o_proj.weight", shape_.hidden, q_size);
    ones(prefix + "post_attention_layernorm.weight");
    matrix(prefix + "mlp.gate_proj.weight", shape_.ffn, shape_.hidden);
    matrix(prefix + "mlp.up_proj.weight", shape_.ffn, shape_.hidden);
    matrix(prefix + "mlp.down_proj.weight", shape_.hidden, shape_.ffn);
  }
  void matrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
    model_.tensors.push_back({.spec = {.name = name, .format = model_.options.format, .shape = {rows, cols}},
                              .stream = name,
                              .deviation = static_cast<float>(1.0 / std::sqrt(static_cast<double>(cols)))});
  }
  void ones(const std::string& name) {
    model_.tensors.push_back(
        {.spec = {.name = name, .format = quant::find_format("f32"), .shape = {shape_.hidden}}, .stream = {}});
  }
  nlohmann::ordered_json config(const char* architecture) const {
    return {{"architectures", {architecture}},
            {"hidden_size", shape_.hidden},
            {"intermediate_size", shape_.ffn},
            {"num_hidden_layers", 1},
            {"num_attention_heads", shape_.heads},
            {"num_key_value_heads", shape_.kv_heads},
            {"head_dim", shape_.head_dim},
            {"hidden_act", "silu"},
            {"max_position_embeddings", shape_.context},
            {"rms_norm_eps", shape_.norm_eps},
            {"rope_theta", shape_.rope_theta},
            {"vocab_size", vocabulary_},
            {"tie_word_embeddings", false}};
  }

  SynthModel& model_;
  const SynthShape& shape_;
  std::int64_t vocabulary_;
};

struct Kind {
  std::string_view name;
  nlohmann::ordered_json (SpeculatorLayout::*lay_out)();
};
constexpr Kind kKinds[] = {
    {"medusa", &SpeculatorLayout::medusa}, {"eagle", &SpeculatorLayout::eagle}, {"eagle3", &SpeculatorLayout::eagle3}};

}  // namespace

std::vector<std::string_view> synth_head_kinds() {
  std::vector<std::string_view> names;
  for (const Kind& kind : kKinds) names.push_back(kind.name);
  return names;
}

Result<SynthModel> plan_synth_speculators(const SynthShape& shape, std::string_view kind, SynthOptions options) {
  const quant::QuantFormat& format = *options.format;
  if (format.pack == nullptr || format.safetensors_dtype.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "format",
                      "format {} cannot be written to safetensors (f32, f16 and bf16 can)", format.name);
  }
  for (const Kind& one : kKinds) {
    if (one.name != kind) continue;
    SynthModel model{.container = checkpoint::Checkpoint::Container::kSafetensors,
                     .config = {},
                     .options = std::move(options),
                     .tensors = {},
                     .heads_config = {}};
    const std::int64_t tokens = model.options.tokenizer.tokens;
    SpeculatorLayout layout(model, shape, tokens > 0 ? tokens : shape.vocab);
    model.heads_config = (layout.*one.lay_out)().dump(2) + "\n";
    return model;
  }
  return make_error(ErrorCode::kInvalidArgument, "heads", "heads is \"{}\": expected medusa, eagle or eagle3", kind);
}

}  // namespace millrace::model
