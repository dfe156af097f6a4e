#include "model/config/shared_config.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/error.h"
#include "model/config/config_check.h"
#include "model/config/rope_config.h"
#include "model/config/window_config.h"

namespace millrace::model {
namespace {

using checkpoint::ConfigField;
using checkpoint::ConfigView;
using checkpoint::kCounts;
using checkpoint::kMaxCount;

constexpr ConfigField kVocabulary{.json = {"vocab_size", "padded_vocab_size"}, .gguf = {"vocab_size"}};
constexpr ConfigField kHidden{.json = {"hidden_size", "n_embd", "d_model", "model_dim"}, .gguf = {"embedding_length"}};
constexpr ConfigField kLayers{
    .json = {"num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers"},
    .gguf = {"block_count"}};
constexpr ConfigField kHeads{
    .json = {"num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads", "num_query_heads"},
    .gguf = {"attention.head_count"}};
constexpr ConfigField kKvHeads{.json = {"num_key_value_heads", "num_kv_heads", "multi_query_group_num"},
                               .gguf = {"attention.head_count_kv"}};
constexpr ConfigField kHeadDim{.json = {"head_dim", "kv_channels"}, .gguf = {"attention.key_length"}};
// Not `v_head_dim` of config.json: what it means differs from family to family, so that theirs is theirs to read.
constexpr ConfigField kValueDim{.gguf = {"attention.value_length"}};
constexpr ConfigField kContext{.json = {"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length",
                                        "max_context_length", "model_max_length"},
                               .gguf = {"context_length"}};
constexpr ConfigField kFfn{.json = {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"},
                           .gguf = {"feed_forward_length"}};
constexpr ConfigField kNormEps{
    .json = {"rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_eps", "norm_epsilon", "layernorm_epsilon"},
    .gguf = {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"}};
constexpr ConfigField kActivation{
    .json = {"hidden_activation", "hidden_act", "activation_function", "activation_fn_name"}};
constexpr ConfigField kTied{.json = {"tie_word_embeddings"}};
constexpr ConfigField kAttentionBias{.json = {"attention_bias"}};
constexpr ConfigField kMlpBias{.json = {"mlp_bias"}};
constexpr ConfigField kCode{.json = {"auto_map"}};
// Read by open_weights() and by the readers of quantized weights.
constexpr ConfigField kQuantization{.json = {checkpoint::kQuantizationField}};

// A number larger than any text is how some files say that there is no limit.
std::int64_t read_context_length(ConfigView& view) {
  const nlohmann::json* value = view.json(kContext);
  const auto number = value == nullptr ? std::nullopt : checkpoint::any_number(*value);
  if (number.value_or(0.0) > static_cast<double>(kMaxCount)) return kMaxCount;
  return view.required_integer(kContext, kCounts);
}

std::int64_t read_vocabulary_size(ConfigView& view) {
  if (!view.gguf()) return view.required_integer(kVocabulary, kCounts);
  const std::int64_t tokens = view.config().tokens;
  const std::int64_t size = view.integer(kVocabulary).value_or(tokens);
  if (size < tokens) view.bad_value(kVocabulary, fmt::format("{}, but the tokenizer has {} tokens", size, tokens));
  const std::int64_t least = tokens == 0 && !view.has(kVocabulary) ? 0 : 1;  // complete_from_tensors() finds it
  if (size < least || size > kMaxCount) {
    view.bad_value(kVocabulary, fmt::format("expected 1 to {}, found {}", kMaxCount, size));
  }
  return size;
}

// Takes the counts of all layers: one number where they are equal, the largest otherwise, with `each` of them.
std::int64_t largest_of(std::vector<std::int64_t> counts, std::vector<std::int64_t>& each) {
  const std::int64_t most = std::ranges::max(counts);
  if (std::ranges::adjacent_find(counts, std::ranges::not_equal_to()) != counts.end()) each = std::move(counts);
  return most;
}

// The counts of all layers; a layer may have none of what is counted, but not all.
std::optional<std::vector<std::int64_t>> counts_of(ConfigView& view, const ConfigField& field, std::int64_t n_layers,
                                                   std::int64_t most) {
  auto counts = view.integers(field, n_layers, {view.is_list(field) ? 0 : 1, most});
  if (counts && std::ranges::max(*counts) == 0) view.bad_value(field, "expected one above 0");
  return counts;
}

void read_heads(ConfigView& view, ModelConfig& config) {
  const auto heads = counts_of(view, kHeads, config.n_layers, kMaxCount);
  config.n_heads = heads ? largest_of(*heads, config.layer_heads) : view.required_integer(kHeads, kCounts);
  const auto kv_heads = counts_of(view, kKvHeads, config.n_layers, config.n_heads);
  config.n_kv_heads = kv_heads ? largest_of(*kv_heads, config.layer_kv_heads) : config.n_heads;
  const auto head_dim = view.integer(kHeadDim, kCounts), value_dim = view.integer(kValueDim, kCounts);
  const bool says_both = head_dim && (value_dim || !view.gguf());
  if (!says_both && config.hidden_size % config.n_heads != 0) {
    view.bad_value(kHeads,
                   fmt::format("hidden size {} is not a multiple of {} heads", config.hidden_size, config.n_heads));
  }
  const std::int64_t share = config.hidden_size / config.n_heads;
  config.head_dim = head_dim.value_or(share);
  // In GGUF each by itself, as its manual says.
  config.value_dim = value_dim.value_or(view.gguf() ? share : config.head_dim);
}

void read_ffn(ConfigView& view, const ConfigDefaults& defaults, ModelConfig& config) {
  const bool stated = view.has(kFfn) || view.gguf() || defaults.ffn_factor == 0;
  if (!stated) {
    config.intermediate_size = defaults.ffn_factor * config.hidden_size;
  } else if (const auto widths = counts_of(view, kFfn, config.n_layers, kMaxCount)) {
    config.intermediate_size = largest_of(*widths, config.layer_ffn);
  } else {
    config.intermediate_size = view.required_integer(kFfn, kCounts);
  }
}

void read_sizes(ConfigView& view, const ConfigDefaults& defaults, ModelConfig& config) {
  config.context_length = read_context_length(view);
  config.vocab_size = read_vocabulary_size(view);
  config.hidden_size = view.required_integer(kHidden, kCounts);
  config.n_layers = view.required_integer(kLayers, {1, kMaxLayers});
  read_heads(view, config);
  read_ffn(view, defaults, config);
}

}  // namespace

ModelConfig read_shared_config(ConfigView& view, const ConfigDefaults& defaults) {
  ModelConfig config;
  config.architecture = view.config().architecture;
  config.name = view.config().name;
  view.has(kQuantization);
  if (view.has(kCode) && !defaults.code_is_known) {
    view.unsupported(kCode, "the model needs Python code from its own repository, which is never run");
  }
  read_sizes(view, defaults, config);
  config.norm_eps = view.gguf() ? view.required_positive_number(kNormEps)
                                : view.positive_number(kNormEps).value_or(defaults.norm_eps);
  config.activation = view.text(kActivation).value_or(std::string(defaults.activation));
  config.rope.dim = config.head_dim;
  if (defaults.rotary) read_rope(view, config);
  read_window(view, {.used = defaults.windows, .period = defaults.window_period, .chunks = defaults.chunks}, config);
  config.tie_word_embeddings = view.boolean(kTied).value_or(defaults.tied_head);
  config.attention_bias = view.boolean(kAttentionBias).value_or(defaults.attention_bias);
  config.mlp_bias = view.boolean(kMlpBias).value_or(defaults.mlp_bias);
  check_model_config(view.file(), config);
  return config;
}

void complete_from_tensors(const checkpoint::Checkpoint& checkpoint, ModelConfig& config) {
  if (checkpoint.container != checkpoint::Checkpoint::Container::kGguf) return;
  const auto has = [&](const char* name) { return checkpoint.find(name) != nullptr; };
  if (config.vocab_size == 0) {
    const checkpoint::RawTensor* embedding = checkpoint.find("token_embd.weight");
    if (embedding == nullptr || embedding->shape.rank() != 2) {
      throw_load_error(ErrorCode::kBadFile, "vocab_size", "{}: no tokenizer, no vocab_size and no token_embd.weight",
                       checkpoint.path);
    }
    config.vocab_size = embedding->shape[0];
  }
  config.tie_word_embeddings = !has("output.weight");
  config.attention_bias = has("blk.0.attn_q.bias") || has("blk.0.attn_qkv.bias");
  config.mlp_bias = has("blk.0.ffn_up.bias");
  config.head_norms = has("blk.0.attn_q_norm.weight");
  config.second_norm = has("blk.0.attn_norm_2.weight");
  if (has("rope_factors_long.weight")) config.rope.scaling.kind = RopeScaling::Kind::kLongRope;
}

std::span<const ConfigField> shared_fields() {
  static const std::vector<ConfigField> fields = [] {
    std::vector<ConfigField> all = {kVocabulary,    kHidden,  kLayers, kHeads,       kKvHeads,    kHeadDim,
                                    kValueDim,      kContext, kFfn,    kNormEps,     kActivation, kTied,
                                    kAttentionBias, kMlpBias, kCode,   kQuantization};
    for (const auto part : {rope_fields(), window_fields()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return fields;
}

}  // namespace millrace::model
