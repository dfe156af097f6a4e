// DeciLM and Llama Nemotron (arXiv:2411.19146): Llama's layers as a search left them. Each has key/value heads and an
// MLP width of its own, and some have a matrix in place of attention or MLP, or nothing.
#include "model/blocks/linear.h"
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;
using checkpoint::JsonFields;

constexpr ConfigField kDeciKvHeads{.json = {"num_key_value_heads_per_layer"}, .neutral = "*"};
constexpr ConfigField kBlocks{.json = {"block_configs"}};
constexpr std::int64_t kWidthStep = 256;  // widths are rounded up to multiples of it

// What a layer has of a part: its size, heads or width, or a matrix in its place. Neither: nothing.
struct DeciPart {
  std::int64_t size = 0;
  bool matrix = false;
};
struct DeciLayer {
  DeciPart attention, mlp;  // size: key/value heads; width
};

std::optional<JsonFields> part_of(const JsonFields& layer, std::string_view name) {
  const auto part = layer.object(name);
  return part && !part->boolean("no_op").value_or(false) ? part : std::nullopt;
}

DeciPart attention_part(const JsonFields& layer, std::int64_t heads) {
  const auto part = part_of(layer, "attention");
  if (!part) return {};
  if (part->boolean("replace_with_linear").value_or(false)) return {.matrix = true};
  for (const char* variant : {"window_length", "num_sink_tokens", "sparsify"}) {
    if (part->find(variant) != nullptr) part->unsupported(variant, "only null is supported");
  }
  const auto group = part->integer("n_heads_in_group");
  if (!group) return {};
  if (*group < 1 || heads % *group != 0) part->wrong_type("n_heads_in_group", "a divisor of the number of heads");
  return {.size = heads / *group};
}

DeciPart mlp_part(const JsonFields& layer, std::int64_t hidden) {
  const auto part = part_of(layer, "ffn");
  if (!part) return {};
  if (part->boolean("replace_with_linear").value_or(false)) return {.matrix = true};
  const auto factor = part->number("ffn_mult");
  if (!factor) return {};
  if (!(*factor > 0.0 && *factor <= 1024.0)) part->wrong_type("ffn_mult", "a number above 0 and up to 1024");
  const auto width = static_cast<std::int64_t>(2.0 * *factor * static_cast<double>(hidden) / 3.0);
  return {.size = (width + kWidthStep - 1) / kWidthStep * kWidthStep};
}

std::vector<DeciLayer> read_blocks(checkpoint::ConfigView& view, const ModelConfig& config) {
  std::vector<DeciLayer> layers;
  const nlohmann::json* blocks = view.json(kBlocks);
  if (blocks == nullptr) return layers;
  const auto bad = [&] { view.bad_value(kBlocks, fmt::format("expected a list of {} objects", config.n_layers)); };
  if (!blocks->is_array() || std::ssize(*blocks) != config.n_layers) bad();
  for (const nlohmann::json& block : *blocks) {
    if (!block.is_object()) bad();
    const JsonFields layer(view.file(), block);
    layers.push_back({attention_part(layer, config.n_heads), mlp_part(layer, config.hidden_size)});
  }
  return layers;
}

// In GGUF, a layer of heads without keys and values has a matrix in place of its attention.
std::vector<DeciLayer> gguf_layers(const ModelConfig& config) {
  const auto of_layer = [](const std::vector<std::int64_t>& layers, std::int64_t of_all, std::size_t layer) {
    return layers.empty() ? of_all : layers[layer];
  };
  std::vector<DeciLayer> all;
  for (std::size_t i = 0; i < static_cast<std::size_t>(config.n_layers); ++i) {
    const std::int64_t kv_heads = of_layer(config.layer_kv_heads, config.n_kv_heads, i);
    const bool heads = of_layer(config.layer_heads, config.n_heads, i) > 0;
    all.push_back({{.size = heads ? kv_heads : 0, .matrix = heads && kv_heads == 0},
                   {.size = of_layer(config.layer_ffn, config.intermediate_size, i)}});
  }
  return all;
}

// Puts the matrices in their places and takes out what is nothing.
void keep_parts(ModelSpec& spec, const std::vector<DeciLayer>& layers, bool gguf) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& [attention, mlp] = layers[i];
    std::vector<BlockSpec>& blocks = spec.layers[i].blocks;
    if (attention.matrix) {
      const auto& of = blocks[0].as<AttentionParams>();
      blocks[0] = LinearParams{.size = spec.hidden_size,
                               .norm = of.norm,
                               .norm_name = of.names.norm,
                               .weight_name = gguf ? of.names.o : "model.layers.{}.self_attn.linear_attn",
                               .role = "attn_output"};
    }
    if (mlp.matrix) {
      const auto& of = blocks[1].as<MlpParams>();
      blocks[1] = LinearParams{.size = spec.hidden_size,
                               .norm = of.norm,
                               .norm_name = of.names.norm,
                               .weight_name = "model.layers.{}.mlp.linear_mlp",
                               .role = "ffn_linear"};
    }
    if (mlp.size == 0 && !mlp.matrix) blocks.erase(blocks.begin() + 1);
    if (attention.size == 0 && !attention.matrix) blocks.erase(blocks.begin());
  }
}

}  // namespace

ModelFamily deci() {
  return {.name = "deci",
          .hf = {"DeciLMForCausalLM"},
          .gguf = {"deci"},
          .defaults = {.ffn_factor = 4, .code_is_known = true},
          .fields = {kDeciKvHeads, kBlocks},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            const checkpoint::IntegerRange heads{1, config.n_heads};
            if (const auto kv_heads = view.integers(kDeciKvHeads, config.n_layers, heads)) {
              config.layer_kv_heads = *kv_heads;
            }
            std::vector<DeciLayer> layers = view.gguf() ? gguf_layers(config) : read_blocks(view, config);
            if (!view.gguf() && !layers.empty()) {
              config.layer_kv_heads.clear();
              config.layer_ffn.clear();
              for (const auto& [attention, mlp] : layers) {
                config.layer_kv_heads.push_back(attention.size);
                config.layer_ffn.push_back(mlp.size);
              }
            }
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            keep_parts(spec, layers, view.gguf());
            return spec;
          }};
}

}  // namespace millrace::model::families
