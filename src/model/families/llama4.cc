// Llama 4 (Meta, 2025): layers that see their own chunk of positions, and layers without rotation that see all, whose
// queries grow with the position; norms of heads without weights behind the rotation; one expert, whose input is
// scaled, beside one that sees every row.
#include <algorithm>

#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kLlama4Width{.json = {"intermediate_size_mlp"}};  // of MLPs; the other is of experts
constexpr ConfigField kLlama4Sparse{.json = {"moe_layers"}};
constexpr ConfigField kLlama4Step{
    .json = {"interleave_moe_layer_step"}, .gguf = {"interleave_moe_layer_step"}, .neutral = "*"};
constexpr ConfigField kLlama4Types{.json = {"layer_types"}, .neutral = "*"};
constexpr ConfigField kLlama4Rotated{.json = {"no_rope_layers"}, .neutral = "*"};  // 1: it is rotated, all the same
constexpr ConfigField kLlama4Period{.json = {"no_rope_layer_interval"}, .neutral = "*"};
constexpr ConfigField kLlama4Chunk{.json = {"attention_chunk_size"}};
constexpr ConfigField kLlama4HeadNorms{.json = {"use_qk_norm"}, .neutral = "*"};
constexpr ConfigField kLlama4Grows{.json = {"attn_temperature_tuning"}};
constexpr ConfigField kLlama4Growth{.json = {"attn_scale"}, .neutral = "*"};
constexpr ConfigField kLlama4Floor{.json = {"floor_scale"}, .neutral = "*"};
constexpr ConfigField kLlama4Window{.gguf = {"attention.sliding_window"}, .neutral = "*"};

constexpr std::string_view kLlama4Text = R"({"vocab_size": 202048, "hidden_size": 5120, "intermediate_size": 8192,
    "num_hidden_layers": 48, "num_attention_heads": 40, "max_position_embeddings": 131072})";

// In GGUF a window of 0 says that all layers rotate and see all.
std::vector<bool> llama4_rotates(checkpoint::ConfigView& view, std::int64_t n_layers) {
  const std::int64_t period = view.integer(kLlama4Period, checkpoint::kCounts).value_or(4);
  const bool all = view.gguf() && view.integer(kLlama4Window).value_or(1) == 0;
  std::vector<bool> rotates;
  for (std::int64_t i = 0; i < n_layers; ++i) rotates.push_back(all || (i + 1) % period != 0);
  const nlohmann::json* listed = view.json(kLlama4Rotated);
  if (listed == nullptr || listed->empty()) return rotates;
  const auto flags = view.integers(kLlama4Rotated, n_layers, {0, 1});
  for (std::size_t i = 0; i < rotates.size(); ++i) rotates[i] = (*flags)[i] == 1;
  return rotates;
}

bool llama4_sees_chunk(checkpoint::ConfigView& view, std::size_t layer, bool rotates) {
  const nlohmann::json* types = view.json(kLlama4Types);
  if (types == nullptr) return rotates && !(view.gguf() && view.integer(kLlama4Window).value_or(1) == 0);
  if (layer >= types->size()) view.bad_value(kLlama4Types, "expected one for each layer");
  return types->at(layer) == "chunked_attention";
}

// Files have a number or a truth.
bool llama4_grows(checkpoint::ConfigView& view) {
  const nlohmann::json* grows = view.json(kLlama4Grows);
  return grows == nullptr || (grows->is_boolean() ? grows->get<bool>() : *grows != 0);
}

void set_llama4_attention(checkpoint::ConfigView& view, ModelSpec& spec, bool head_norms) {
  const std::int64_t chunk = view.gguf() ? 8192 : view.integer(kLlama4Chunk, checkpoint::kCounts).value_or(0);
  const std::vector<bool> rotates = llama4_rotates(view, std::ssize(spec.layers));
  const bool grows = llama4_grows(view);
  const double growth = view.positive_number(kLlama4Growth).value_or(0.1);
  const double floor = view.positive_number(kLlama4Floor).value_or(8192.0);
  if (grows) spec.query_scale = {.factor = growth, .period = floor, .offset = 1.0};
  for (std::size_t i = 0; i < rotates.size(); ++i) {
    auto& a = spec.layers[i].get<AttentionParams>();
    a.window = 0;
    a.chunk = llama4_sees_chunk(view, i, rotates[i]) ? chunk : 0;
    a.scales_query = grows && !rotates[i];
    if (!rotates[i]) a.rope = -1;
    if (!rotates[i] || !head_norms) continue;
    a.q_k_norm = HeadNormParams{.norm = a.norm, .after_rotation = true};
    a.q_k_norm->norm.weight = false;
  }
}

ExpertsParams llama4_experts(checkpoint::ConfigView& view, const ModelSpec& spec) {
  ExpertsParams experts =
      read_experts(view, spec, {.router = "sigmoid_of_chosen", .experts = 16, .chosen = 1, .normalised = false});
  experts.scale_inputs = true;
  experts.shared_width = experts.width;
  if (view.gguf()) return experts;
  const std::string mixture = "model.layers.{}.feed_forward.";
  experts.inputs_first = true;
  experts.names.router = mixture + "router";
  experts.names.gate_up = mixture + "experts.gate_up_proj";
  experts.names.stacked_down = mixture + "experts.down_proj";
  name_shared_expert(experts.names, mixture + "shared_expert.");
  return experts;
}

void use_llama4_experts(checkpoint::ConfigView& view, ModelSpec& spec, const ExpertsParams& experts) {
  const std::int64_t step = view.integer(kLlama4Step, {0, checkpoint::kMaxCount}).value_or(1);
  const auto listed = view.numbers(kLlama4Sparse);
  use_experts(spec, experts, [&](std::int64_t layer) {
    if (listed) return std::ranges::find(*listed, static_cast<double>(layer)) != listed->end();
    return step > 0 && (layer + 1) % step == 0;
  });
}

void name_llama4_mlps(ModelSpec& spec, std::int64_t width) {
  const std::string mlp = "model.layers.{}.feed_forward.";
  each_mlp(spec, [&](MlpParams& m) {
    m.width = width;
    m.names.gate = mlp + "gate_proj";
    m.names.up = mlp + "up_proj";
    m.names.down = mlp + "down_proj";
  });
}

}  // namespace

ModelFamily llama4() {
  std::vector<ConfigField> fields = moe_fields();
  fields.insert(fields.end(),
                {kLlama4Width, kLlama4Sparse, kLlama4Step, kLlama4Types, kLlama4Rotated, kLlama4Period, kLlama4Chunk,
                 kLlama4HeadNorms, kLlama4Grows, kLlama4Growth, kLlama4Floor, kLlama4Window});
  return {.name = "llama4",
          .hf = {"Llama4ForConditionalGeneration", "Llama4ForCausalLM"},
          .gguf = {"llama4"},
          .text_types = {{"llama4_text", kLlama4Text}},
          .defaults = {.json = R"({"head_dim": 128, "num_key_value_heads": 8, "rope_theta": 500000.0,
                                   "intermediate_size_mlp": 16384, "num_local_experts": 16, "use_qk_norm": true,
                                   "attention_chunk_size": 8192})",
                       .norm_eps = 1e-5,
                       .chunks = true},
          .fields = fields,
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            keep_rotary_pairs(spec);
            const bool mixture = has_experts(view);
            const ExpertsParams experts = mixture ? llama4_experts(view, spec) : ExpertsParams{};
            const bool norms = view.gguf() ? experts.routing.experts != 128  // the larger one's
                                           : view.boolean(kLlama4HeadNorms).value_or(true);
            set_llama4_attention(view, spec, norms);
            if (!view.gguf()) {
              name_llama4_mlps(spec,
                               view.integer(kLlama4Width, checkpoint::kCounts).value_or(config.intermediate_size));
            }
            if (mixture) use_llama4_experts(view, spec, experts);
            return spec;
          }};
}

}  // namespace millrace::model::families
