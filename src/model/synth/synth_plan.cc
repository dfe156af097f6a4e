#include "model/synth/synth_plan.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "model/block.h"
#include "model/model_family.h"
#include "model/synth/synth_config.h"
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
  Layout(SynthModel& model, ModelSpec spec, bool fused) : model_(model), spec_(std::move(spec)), fused_(fused) {}

  void build() {
    const double embedding = kLogitDeviation / std::sqrt(static_cast<double>(spec_.hidden_size));
    std::vector<BlockWeight> outer = outer_weights(spec_);
    const auto last = std::ranges::find(outer, spec_.names.final_norm, &BlockWeight::name);
    for (auto weight = outer.begin(); weight != last; ++weight) add(*weight, weight->name, weight->role, embedding);
    // What is added to the residual is smaller in deep models (GPT-2), so that its sum stays near 1.
    std::size_t blocks = 0;
    for (const LayerSpec& layer : spec_.layers) blocks += layer.blocks.size();
    const double residual = 1.0 / std::sqrt(static_cast<double>(blocks));
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      for (const BlockSpec& block : spec_.layers[i].blocks) add_block(block, static_cast<std::int64_t>(i), residual);
    }
    for (auto weight = last; weight != outer.end(); ++weight) add(*weight, weight->name, weight->role, embedding);
  }

 private:
  void add_block(const BlockSpec& block, std::int64_t layer, double residual) {
    const auto has = [this](const std::string&) { return fused_; };
    for (const BlockWeight& weight : block_weights(block, spec_, has)) {
      const double of_inputs = weight.cols > 0 ? 1.0 / std::sqrt(static_cast<double>(weight.cols)) : 0.0;
      add(weight, WeightLoader::layer_name(weight.name, layer), fmt::format("blk.{}.{}", layer, weight.role),
          weight.to_residual ? of_inputs * residual : of_inputs);
    }
  }

  // `stream` as GGUF calls the weight, whatever the file does. Parts of a fused tensor come one after the other.
  void add(const BlockWeight& weight, const std::string& name, const std::string& stream, double deviation) {
    const std::string full = name + ".weight";
    if (!model_.tensors.empty() && model_.tensors.back().spec.name == full) return;
    if (weight.cols == 0) {
      model_.tensors.push_back({.spec = {.name = full, .format = quant::find_format("f32"), .shape = {weight.rows}},
                                .stream = {},
                                .constant = 1.0f - spec_.final_norm.offset});
      return;
    }
    model_.tensors.push_back({.spec = {.name = full,
                                       .format = fitting_format(model_.options.format, weight.cols),
                                       .shape = {weight.tensor_rows(), weight.cols}},
                              .stream = stream,
                              .deviation = static_cast<float>(deviation),
                              .pair_rows = weight.rotated_head});
  }

  SynthModel& model_;
  ModelSpec spec_;
  bool fused_;
};

// What loading the written configuration gives.
ModelSpec spec_of(const SynthModel& model, const ModelFamily& family) {
  checkpoint::ConfigFile file;
  if (model.container == Checkpoint::Container::kGguf) {
    checkpoint::GgufMetadata metadata("");
    for (const checkpoint::GgufEntry& entry : synth_gguf_entries(model)) metadata.add(entry.first, entry.second);
    file = checkpoint::read_config_metadata(metadata);
  } else {
    file =
        checkpoint::read_config_json("config.json", synth_config_json(model, nlohmann::ordered_json::object()).dump());
  }
  checkpoint::ConfigView view(file, family.defaults.json);
  ModelConfig config = read_shared_config(view, family.defaults);
  config.tie_word_embeddings = model.config.tie_word_embeddings;  // in GGUF the tensors tell
  return family.spec(view, config);
}

}  // namespace

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
  model.family = family.name;
  model.further = nlohmann::json::parse(gguf ? shape.gguf : shape.json, nullptr, false);
  if (model.further.is_discarded()) model.further = nlohmann::json::object();
  Layout(model, spec_of(model, family), shape.fused).build();
  return model;
}

}  // namespace millrace::model
