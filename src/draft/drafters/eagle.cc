// EAGLE (arXiv:2401.15077) and EAGLE-3 (arXiv:2503.01840): a layer that goes on from the target's states. EAGLE's makes
// the next of the states that the target's head sees. EAGLE-3's sees three streams of the target, makes states of its
// own, and has a head for the vocabulary's likelier part: token = row + d2t[row].

#include "draft/speculators/feature_drafter.h"
#include "draft/speculators/speculator_files.h"
#include "model/config/read_config.h"
#include "model/llama_spec.h"

namespace millrace::draft::drafters {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

// The layer's own weights; it has no norm in front of attention. Norms and products beside it are named by the caller.
void name_layer(model::ModelSpec& spec, const std::string& layer) {
  spec.names = {};
  spec.names.ignored = {"*.rotary_emb.inv_freq"};
  model::name_llama_layer(spec.layers[0], layer);
  spec.layers[0].get<model::AttentionParams>().names.norm.clear();
}

// Of the layer: what speculators' files nest, or the whole.
std::string layer_config(const SpeculatorFiles& files) {
  const auto nested = files.config.find("transformer_layer_config");
  if (nested == files.config.end() || !nested->is_object()) return files.config_text;
  nlohmann::json layer = *nested;
  if (!layer.contains("architectures")) layer["architectures"] = {"LlamaForCausalLM"};
  return layer.dump();
}

SpeculatorSpec layer_spec(const SpeculatorFiles& files, const model::ModelSpec& target) {
  SpeculatorSpec spec;
  const auto config = model::parse_hf_config(files.config_file, layer_config(files));
  if (config.n_layers != 1) {
    files.fields().unsupported("num_hidden_layers",
                               fmt::format("{} is not supported, only heads of one layer", config.n_layers));
  }
  if (config.vocab_size != target.vocab_size) {
    throw_load_error(ErrorCode::kInvalidArgument, "spec-model", "{}: vocab_size is {}; the model's is {}",
                     files.config_file, config.vocab_size, target.vocab_size);
  }
  spec.model = model::llama_spec(config, false);
  spec.model.family = "eagle";
  return spec;
}

// Files keep the names of EAGLE's own code, or those of a model around it.
std::string prefix_of(const SpeculatorFiles& files) { return files.has("model.fc.weight") ? "model." : ""; }

// A tensor that files may leave to the target.
std::string optional(const SpeculatorFiles& files, const std::string& name) {
  return files.has(name + ".weight") ? name : std::string();
}

SpeculatorSpec eagle1(const SpeculatorFiles& files, const model::ModelSpec& target) {
  const std::string prefix = prefix_of(files);
  SpeculatorSpec spec = layer_spec(files, target);
  name_layer(spec.model, prefix + "layers.0.");
  spec.model.names.embedding = optional(files, prefix + "embed_tokens");
  spec.model.names.head = optional(files, "lm_head");
  spec.head_rows = target.vocab_size;
  spec.projection = prefix + "fc";
  spec.layers = {std::ssize(target.layers)};
  spec.normed_states = true;
  return spec;
}

// Low, middle and high, as the models were trained with, unless the configuration says otherwise.
std::vector<std::int64_t> streams(const SpeculatorFiles& files, const model::ModelSpec& target) {
  constexpr std::string_view kField = "eagle_aux_hidden_state_layer_ids";
  const std::int64_t n = std::ssize(target.layers);
  JsonFields fields = files.fields();
  if (const auto nested = fields.object("eagle_config"); nested && nested->find(kField) != nullptr) fields = *nested;
  const nlohmann::json* ids = fields.find(kField);
  if (ids == nullptr) {
    if (n < 7) {
      throw_load_error(ErrorCode::kInvalidArgument, "spec-model",
                       "{}: EAGLE-3 takes states in front of layers 2, n/2 and n-3 of 7 or more; the model has {}",
                       files.config_file, n);
    }
    return {2, n / 2, n - 3};
  }
  std::vector<std::int64_t> layers;
  if (!ids->is_array() || ids->empty()) fields.wrong_type(kField, "a list of layers");
  for (const nlohmann::json& id : *ids) {
    if (!id.is_number_integer()) fields.wrong_type(kField, "a list of layers");
    layers.push_back(id.get<std::int64_t>());
    const bool ascends = layers.size() < 2 || layers[layers.size() - 2] < layers.back();
    if (layers.back() < 0 || layers.back() > n || !ascends) {
      fields.wrong_type(kField, fmt::format("ascending layers from 0 to {}", n));
    }
  }
  return layers;
}

// token = row + offset.
std::vector<std::int32_t> head_tokens(const SpeculatorFiles& files, std::int64_t rows, std::int64_t vocabulary) {
  const std::vector<std::int64_t> offsets = files.integers_of("d2t", rows);
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    if (offsets[i] < -row || offsets[i] >= vocabulary - row) {
      throw_load_error(ErrorCode::kBadFile, "d2t", "{}: d2t[{}] is {}: tokens are 0 to {}", files.checkpoint.path, i,
                       offsets[i], vocabulary - 1);
    }
    tokens.push_back(static_cast<std::int32_t>(row + offsets[i]));
  }
  if (tokens.empty() && rows != vocabulary) {
    throw_load_error(ErrorCode::kBadFile, "d2t", "{}: tensor 'd2t' is missing; expected shape {}",
                     files.checkpoint.path, Shape{rows}.to_string());
  }
  return tokens;
}

SpeculatorSpec eagle3(const SpeculatorFiles& files, const model::ModelSpec& target, const std::string& layer) {
  const std::string prefix = prefix_of(files);
  SpeculatorSpec spec = layer_spec(files, target);
  name_layer(spec.model, layer);
  spec.model.names.final_norm = prefix + "norm";
  spec.model.names.embedding = optional(files, prefix + "embed_tokens");
  spec.model.names.head = "lm_head";
  spec.head_rows = files.fields().integer("draft_vocab_size").value_or(target.vocab_size);
  if (spec.head_rows < 1 || spec.head_rows > target.vocab_size) {
    throw_load_error(ErrorCode::kBadFile, "draft_vocab_size", "{}: draft_vocab_size is {}: expected 1 to {}",
                     files.config_file, spec.head_rows, target.vocab_size);
  }
  spec.head_tokens = head_tokens(files, spec.head_rows, target.vocab_size);
  spec.token_norm = layer + "input_layernorm";
  spec.state_norm = layer + "hidden_norm";
  spec.normed_residual = files.fields().boolean("norm_before_residual").value_or(false);
  spec.layers = streams(files, target);
  spec.reduction = prefix + "fc";
  return spec;
}

SpeculatorSpec spec_of(const SpeculatorFiles& files, const model::ModelSpec& target) {
  for (const char* layer : {"midlayer.", "layers.0.", "model.midlayer.", "model.layers.0."}) {
    if (files.has(layer + std::string("hidden_norm.weight"))) return eagle3(files, target, layer);
  }
  return eagle1(files, target);
}

Result<std::unique_ptr<Drafter>> make(const DrafterOptions& options) try {
  if (options.heads.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "spec-model", "eagle needs --spec-model: a directory of its head");
  }
  const SpeculatorFiles files = open_head_files(Env::system(), options.heads);
  SpeculatorSpec spec = spec_of(files, options.place.target->spec());
  return make_feature_drafter(options.place,
                              std::make_unique<FeatureSpeculator>(files.checkpoint, std::move(spec), options.place));
} catch (const LoadError& failure) {
  return failure.error();
}

Result<std::size_t> weight_bytes(const DrafterOptions& options) { return head_weight_bytes(options); }

Result<std::size_t> page_bytes(const DrafterOptions& options) try {
  if (options.heads.empty()) return std::size_t{0};  // make() says what is wrong
  const SpeculatorFiles files = open_head_files(Env::system(), options.heads);
  return feature_page_bytes(spec_of(files, options.place.target->spec()), options.place);
} catch (const LoadError& failure) {
  return failure.error();
}

}  // namespace

DrafterKind eagle() {
  return {.name = "eagle",
          .description = "an EAGLE or EAGLE-3 layer on the model's hidden states, from the directory --spec-model",
          .make = make,
          .needs = Needs::kHeads,
          .page_bytes = page_bytes,
          .weight_bytes = weight_bytes};
}

}  // namespace millrace::draft::drafters
