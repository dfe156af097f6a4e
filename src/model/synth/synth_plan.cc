#include "model/synth/synth_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

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
  config.head_dim = shape.head_dim;
  config.rope.dim = family.defaults.rotary ? shape.head_dim : 0;
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

constexpr float kBiasDeviation = 0.1f;  // also of sinks: small beside what they are added to

// Of vectors whose values are all the same: norms change nothing, xIELU is of moderate slopes.
float constant_of(const BlockWeight& weight) {
  if (weight.role == "xielu_eps") return -1e-6f;
  return weight.role.starts_with("xielu_") ? 0.5f : 1.0f - weight.offset;
}

class Layout {
 public:
  Layout(SynthModel& model, ModelSpec spec, const SynthShape& shape)
      : model_(model), spec_(std::move(spec)), shape_(shape) {}

  void build() {
    CHECK(!spec_.transposed_linears && "no shape is of such a family");
    const double embedding = kLogitDeviation / std::sqrt(static_cast<double>(spec_.hidden_size));
    std::vector<BlockWeight> outer = outer_weights(spec_);
    const auto last = std::ranges::find(outer, spec_.names.final_norm, &BlockWeight::name);
    for (auto weight = outer.begin(); weight != last; ++weight) add(*weight, 0, weight->role, embedding, false);
    // What is added to the residual is smaller in deep models (GPT-2), so that its sum stays near 1.
    std::size_t blocks = 0;
    for (const LayerSpec& layer : spec_.layers) blocks += layer.blocks.size();
    const double residual = 1.0 / std::sqrt(static_cast<double>(blocks));
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      if (!spec_.layers[i].has_weights()) continue;
      for (const BlockSpec& block : spec_.layers[i].blocks) add_block(block, static_cast<std::int64_t>(i), residual);
    }
    for (auto weight = last; weight != outer.end(); ++weight) add(*weight, 0, weight->role, embedding, false);
  }

 private:
  void add_block(const BlockSpec& block, std::int64_t layer, double residual) {
    const auto has = [this](const std::string&) { return shape_.fused; };
    for (const BlockWeight& weight : block_weights(block, spec_, has)) {
      const double of_inputs = weight.cols > 0 ? 1.0 / std::sqrt(static_cast<double>(weight.cols)) : 0.0;
      const std::string stream = fmt::format("blk.{}.{}", layer, weight.role);
      add(weight, layer, stream, weight.axis == RowAxis::kResidual ? of_inputs * residual : of_inputs,
          may_have_bias(weight));
    }
  }

  bool may_have_bias(const BlockWeight& weight) const {
    const bool qkv = weight.role == "attn_q" || weight.role == "attn_k" || weight.role == "attn_v";
    return shape_.biases == SynthBiases::kAll || (shape_.biases == SynthBiases::kQkv && qkv);
  }

  // `stream` as GGUF calls the weight, whatever the file does. `bias`: also where the family leaves it open.
  void add(const BlockWeight& weight, std::int64_t layer, const std::string& stream, double deviation, bool bias) {
    const bool matrix = weight.cols > 0;
    // Neither does any quantizer touch positions and routers.
    const auto* format = matrix && weight.role != "position_embd" && !weight.exact
                             ? fitting_format(model_.options.format, weight.cols)
                             : quant::find_format("f32");
    SynthTensor tensor{.spec = {.name = WeightLoader::layer_name(weight.tensor(), layer),
                                .format = format,
                                .shape = {weight.tensor_rows()}},
                       .stream = {},
                       .constant = constant_of(weight)};
    if (matrix) tensor.spec.shape = {weight.tensor_rows(), weight.cols};
    const bool apart = weight.tensor().find("[]") != std::string::npos;
    if (weight.experts > 0 && !apart) tensor.spec.shape = {weight.experts, weight.tensor_rows(), weight.cols};
    if (matrix || weight.role == "attn_sinks") tensor.stream = stream;
    tensor.deviation = matrix ? static_cast<float>(deviation) : kBiasDeviation;
    tensor.pair_rows = matrix ? weight.rotated_head : 0;
    for (std::int64_t e = 0; apart && e < weight.experts; ++e) {
      SynthTensor one = tensor;
      one.spec.name = WeightLoader::expert_name(tensor.spec.name, e);
      one.first_row = e * weight.tensor_rows();
      push(std::move(one));
    }
    if (!apart) push(std::move(tensor));
    if (weight.bias == BiasRule::kNone || (weight.bias == BiasRule::kIfPresent && !bias)) return;
    Shape of_bias{weight.tensor_rows()};
    if (weight.experts > 0) of_bias = {weight.experts, weight.tensor_rows()};
    push({.spec = {.name = WeightLoader::layer_name(weight.bias_tensor(), layer),
                   .format = quant::find_format("f32"),
                   .shape = of_bias},
          .stream = stream + ".bias",
          .deviation = kBiasDeviation,
          .pair_rows = weight.cols > 0 ? weight.rotated_head : 0});
  }
  // Once, as parts of a fused tensor are weights of their own.
  void push(SynthTensor tensor) {
    if (names_.insert(tensor.spec.name).second) model_.tensors.push_back(std::move(tensor));
  }

  SynthModel& model_;
  ModelSpec spec_;
  const SynthShape& shape_;
  std::set<std::string> names_;
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
  if (!can_synthesize(format) || (gguf ? format.gguf_type < 0 : format.safetensors_dtype.empty())) {
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
  if (gguf && family.gguf.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "shape",
                      "shape {}: {} models have no name in GGUF; OUT must be a "
                      "directory, for safetensors",
                      shape.name, family.name);
  }
  const std::int64_t vocab_size = options.tokenizer.tokens > 0 ? options.tokenizer.tokens : shape.vocab;
  SynthModel model{.container = container,
                   .config = make_config(shape, family, container, vocab_size),
                   .options = std::move(options),
                   .tensors = {},
                   .heads_config = {}};
  model.family = family.name;
  model.further = nlohmann::json::parse(gguf ? shape.gguf : shape.json, nullptr, false);
  if (model.further.is_discarded()) model.further = nlohmann::json::object();
  Layout(model, spec_of(model, family), shape).build();
  return model;
}

}  // namespace millrace::model
