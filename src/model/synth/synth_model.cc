#include "model/synth/synth_model.h"

#include <cmath>

#include "base/check.h"
#include "checkpoint/gguf_reader.h"
#include "model/block.h"
#include "model/model_family.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;

// With a tied or free head of rows of norm 2 and a final state of RMS 1, logits have a standard deviation of 2.
constexpr double kLogitDeviation = 2.0;

const ModelFamily& family_of(const SynthShape& shape) {
  for (const ModelFamily& family : all_families()) {
    if (family.name == shape.family) return family;
  }
  CHECK(false && "every shape names a family");
  __builtin_unreachable();
}

ModelConfig make_config(const SynthShape& shape, const ModelFamily& family, Checkpoint::Container container,
                        std::int64_t vocab_size) {
  ModelConfig config;
  config.architecture = container == Checkpoint::Container::kGguf ? family.gguf.front() : family.hf.front();
  config.name = "synth-" + std::string(shape.name);
  config.vocab_size = vocab_size;
  config.hidden_size = shape.hidden;
  config.intermediate_size = shape.ffn;
  config.n_layers = shape.layers;
  config.n_heads = shape.heads;
  config.n_kv_heads = shape.kv_heads;
  config.head_dim = config.rope.dim = shape.head_dim;
  config.value_dim = shape.value_dim > 0 ? shape.value_dim : shape.head_dim;
  config.context_length = shape.context;
  config.norm_eps = shape.norm_eps;
  config.rope.theta = shape.rope_theta;
  config.activation = "silu";
  config.tie_word_embeddings = shape.tied_head;
  return config;
}

const quant::QuantFormat* fitting_format(const quant::QuantFormat* wanted, std::int64_t cols) {
  for (const auto* format : {wanted, quant::find_format("q8_0")}) {
    if (cols % format->block_values == 0) return format;
  }
  return quant::find_format("f16");
}

class Layout {
 public:
  Layout(SynthModel& model, ModelSpec spec) : model_(model), spec_(std::move(spec)) {}

  void build() {
    const std::int64_t hidden = spec_.hidden_size;
    const double embedding = kLogitDeviation / std::sqrt(static_cast<double>(hidden));
    matrix(spec_.names.embedding, "token_embd", spec_.vocab_size, hidden, embedding);
    // What is added to the residual is smaller in deep models (GPT-2), so that its sum stays near 1.
    std::size_t blocks = 0;
    for (const LayerSpec& layer : spec_.layers) blocks += layer.blocks.size();
    const double residual = 1.0 / std::sqrt(static_cast<double>(blocks));
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      for (const BlockSpec& block : spec_.layers[i].blocks) add_block(block, static_cast<std::int64_t>(i), residual);
    }
    ones(spec_.names.final_norm, hidden);
    if (!spec_.tied_head) matrix(spec_.names.head, "output", spec_.vocab_size, hidden, embedding);
  }

 private:
  void add_block(const BlockSpec& block, std::int64_t layer, double residual) {
    const auto has = [](const std::string&) { return false; };
    for (const BlockWeight& weight : block_weights(block, spec_, has)) {
      const std::string name = WeightLoader::layer_name(weight.name, layer);
      if (weight.cols == 0) {
        ones(name, weight.rows);
        continue;
      }
      const double of_inputs = 1.0 / std::sqrt(static_cast<double>(weight.cols));
      matrix(name, fmt::format("blk.{}.{}", layer, weight.role), weight.rows, weight.cols,
             weight.to_residual ? of_inputs * residual : of_inputs, weight.rotated_head);
    }
  }

  // `stream` as GGUF calls the matrix, whatever the file does.
  void matrix(const std::string& name, const std::string& stream, std::int64_t rows, std::int64_t cols,
              double deviation, std::int64_t pair_rows = 0) {
    model_.tensors.push_back({.spec = {.name = name + ".weight",
                                       .format = fitting_format(model_.options.format, cols),
                                       .shape = {rows, cols}},
                              .stream = stream,
                              .deviation = static_cast<float>(deviation),
                              .pair_rows = pair_rows});
  }
  void ones(const std::string& name, std::int64_t n) {
    model_.tensors.push_back(
        {.spec = {.name = name + ".weight", .format = quant::find_format("f32"), .shape = {n}}, .stream = {}});
  }

  SynthModel& model_;
  ModelSpec spec_;
};

}  // namespace

Result<SynthTokenizer> read_synth_tokenizer(Env& env, const std::string& gguf_path) {
  if (!gguf_path.ends_with(".gguf")) {
    return make_error(ErrorCode::kUnsupported, "tokenizer", "{}: the tokenizer must come from a .gguf file", gguf_path);
  }
  try {
    const auto file = env.open(gguf_path).or_throw();
    const checkpoint::GgufHeader header = checkpoint::read_gguf_header(*file);
    SynthTokenizer tokenizer;
    for (const checkpoint::GgufEntry& entry : header.metadata.entries()) {
      if (entry.first.starts_with("tokenizer.")) tokenizer.entries.push_back(entry);
    }
    tokenizer.tokens = static_cast<std::int64_t>(header.metadata.string_count("tokenizer.ggml.tokens"));
    if (tokenizer.tokens == 0) {
      return make_error(ErrorCode::kBadFile, "tokenizer.ggml.tokens",
                        "{}: key 'tokenizer.ggml.tokens' is missing or empty", gguf_path);
    }
    return tokenizer;
  } catch (const LoadError& failure) {
    return failure.error();
  }
}

Result<SynthModel> plan_synth(const SynthShape& shape, Checkpoint::Container container, SynthOptions options) {
  const bool gguf = container == Checkpoint::Container::kGguf;
  const quant::QuantFormat& format = *options.format;
  if (format.pack == nullptr || (gguf ? format.gguf_type < 0 : format.safetensors_dtype.empty())) {
    return make_error(ErrorCode::kInvalidArgument, "format", "format {} cannot be written to {}", format.name,
                      gguf ? "GGUF" : "safetensors (f32, f16 and bf16 can)");
  }
  if (!gguf && shape.value_dim > 0 && shape.value_dim != shape.head_dim) {
    return make_error(ErrorCode::kInvalidArgument, "shape",
                      "shape {} has values of {} dimensions and keys of {}: GGUF can say so, config.json of a {} model "
                      "cannot",
                      shape.name, shape.value_dim, shape.head_dim, shape.family);
  }
  const ModelFamily& family = family_of(shape);
  const std::int64_t vocab_size = options.tokenizer.tokens > 0 ? options.tokenizer.tokens : shape.vocab;
  SynthModel model{.container = container,
                   .config = make_config(shape, family, container, vocab_size),
                   .options = std::move(options),
                   .tensors = {},
                   .heads_config = {}};
  checkpoint::ConfigFile no_fields;  // beside what all families share
  no_fields.gguf = gguf;
  checkpoint::ConfigView view(no_fields);
  Layout(model, family.spec(view, model.config)).build();
  return model;
}

std::uint64_t SynthModel::bytes() const noexcept {
  std::uint64_t total = 0;
  for (const SynthTensor& tensor : tensors) total += tensor.spec.bytes();
  return total;
}

std::int64_t SynthModel::parameters() const noexcept {
  std::int64_t total = 0;
  for (const SynthTensor& tensor : tensors) total += tensor.spec.shape.elements();
  return total;
}

}  // namespace millrace::model
