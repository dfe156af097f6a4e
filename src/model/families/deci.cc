// DeciLM and Llama Nemotron (arXiv:2411.19146): Llama's layers as a search left them. Each has key/value heads and an
// MLP width of its own, and some are without attention, without MLP, or without both.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;
using checkpoint::JsonFields;

constexpr ConfigField kDeciKvHeads{.json = {"num_key_value_heads_per_layer"}, .neutral = "*"};
constexpr ConfigField kBlocks{.json = {"block_configs"}};
constexpr std::int64_t kWidthStep = 256;  // widths are rounded up to multiples of it

// What a layer has of a part; nothing where it has none.
std::optional<JsonFields> part_of(const JsonFields& layer, std::string_view name) {
  const auto part = layer.object(name);
  if (!part || part->boolean("no_op").value_or(false)) return std::nullopt;
  if (part->boolean("replace_with_linear").value_or(false)) {
    part->unsupported("replace_with_linear", "true is not supported");
  }
  return part;
}

std::int64_t kv_heads_of(const JsonFields& layer, std::int64_t heads) {
  const auto part = part_of(layer, "attention");
  if (!part) return 0;
  for (const char* variant : {"window_length", "num_sink_tokens", "sparsify"}) {
    if (part->find(variant) != nullptr) part->unsupported(variant, "only null is supported");
  }
  const auto group = part->integer("n_heads_in_group");
  if (!group) return 0;
  if (*group < 1 || heads % *group != 0) part->wrong_type("n_heads_in_group", "a divisor of the number of heads");
  return heads / *group;
}

std::int64_t width_of(const JsonFields& layer, std::int64_t hidden) {
  const auto part = part_of(layer, "ffn");
  const auto factor = part ? part->number("ffn_mult") : std::nullopt;
  if (!factor) return 0;
  if (!(*factor > 0.0 && *factor <= 1024.0)) part->wrong_type("ffn_mult", "a number above 0 and up to 1024");
  const auto width = static_cast<std::int64_t>(2.0 * *factor * static_cast<double>(hidden) / 3.0);
  return (width + kWidthStep - 1) / kWidthStep * kWidthStep;
}

void read_blocks(checkpoint::ConfigView& view, ModelConfig& config) {
  const nlohmann::json* blocks = view.json(kBlocks);
  if (blocks == nullptr) return;
  if (!blocks->is_array() || std::ssize(*blocks) != config.n_layers) {
    view.bad_value(kBlocks, fmt::format("expected a list of {} objects", config.n_layers));
  }
  config.layer_kv_heads.clear();
  config.layer_ffn.clear();
  for (const nlohmann::json& block : *blocks) {
    if (!block.is_object()) view.bad_value(kBlocks, fmt::format("expected a list of {} objects", config.n_layers));
    const JsonFields layer(view.file(), block);
    config.layer_kv_heads.push_back(kv_heads_of(layer, config.n_heads));
    config.layer_ffn.push_back(width_of(layer, config.hidden_size));
  }
}

// In GGUF, a layer of heads without keys and values has a matrix in place of its attention.
void reject_linear_layers(const checkpoint::ConfigView& view, const ModelConfig& config) {
  const auto count = [](const std::vector<std::int64_t>& of_layers, std::int64_t of_all, std::size_t layer) {
    return of_layers.empty() ? of_all : of_layers[layer];
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(config.n_layers); ++i) {
    if (count(config.layer_kv_heads, config.n_kv_heads, i) > 0 || count(config.layer_heads, config.n_heads, i) == 0)
      continue;
    throw_load_error(ErrorCode::kUnsupported, "attention.head_count_kv",
                     "{}: layer {} has a matrix in place of attention, which is not supported", view.file(), i);
  }
}

// Takes out the blocks of no size.
void drop_empty_blocks(ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) {
    std::erase_if(layer.blocks, [](BlockSpec& block) {
      const auto* attention = block.find<AttentionParams>();
      const auto* mlp = block.find<MlpParams>();
      if (attention != nullptr) return attention->heads == 0 || attention->kv_heads == 0;
      return mlp != nullptr && mlp->width == 0;
    });
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
            read_blocks(view, config);
            if (view.gguf()) reject_linear_layers(view, config);
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            drop_empty_blocks(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
