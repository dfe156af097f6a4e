// Multi-token prediction (arXiv:2404.19737, arXiv:2412.19437): a layer in the target's own checkpoint, trained with it
// to make of a state and the next token the state behind that. Of several the first is used, again and again.

#include "draft/speculators/feature_drafter.h"
#include "model/blocks/experts.h"
#include "model/blocks/mlp.h"
#include "model/llama_spec.h"
#include "model/weight_loader.h"

namespace millrace::draft::drafters {
namespace {

using model::WeightLoader;

// How a family calls its layer and what it feeds it with. In names, {} is the number of the target's layers. Without a
// name, embedding and head are the target's.
struct Naming {
  std::string_view layer;  // in front of all names
  std::string_view token_norm, state_norm, projection, final_norm, embedding, head;
  bool token_first;    // in the projection's input
  bool normed_states;  // the target's final norm is behind them
  bool passes_normed;  // so is the layer's, in the next round
};
constexpr Naming kNamings[] = {
    // MiMo (arXiv:2505.07608)
    {"model.mtp_layers.0.", "token_layernorm", "hidden_layernorm", "input_proj", "final_layernorm", "", "", false, true,
     true},
};

// The layer has an MLP also where the target's layers have experts. How wide that is, its weights alone say.
void use_mlp(model::LayerSpec& layer, const checkpoint::Checkpoint& files, const std::string& prefix) {
  for (model::BlockSpec& block : layer.blocks) {
    const auto* experts = block.find<model::ExpertsParams>();
    if (experts == nullptr) continue;
    const checkpoint::RawTensor* up = files.find(prefix + "mlp.up_proj.weight");
    const std::int64_t width = up == nullptr ? experts->width : up->shape[0];
    const model::BlockOutput output = block.output;
    block = model::MlpParams{
        .width = width, .gated = experts->gated, .activation = experts->activation, .norm = experts->norm};
    block.output = output;
  }
}

SpeculatorSpec spec_of(const Naming& naming, const model::ModelSpec& target, const checkpoint::Checkpoint& files) {
  const auto name = [&](std::string_view part) {
    if (part.empty()) return std::string();
    return WeightLoader::layer_name(std::string(naming.layer) + std::string(part), std::ssize(target.layers));
  };
  SpeculatorSpec spec;
  spec.model = target;
  spec.model.layers.resize(1);
  const std::string prefix = WeightLoader::layer_name(std::string(naming.layer), std::ssize(target.layers));
  use_mlp(spec.model.layers[0], files, prefix);
  model::name_llama_layer(spec.model.layers[0], prefix);
  model::WeightNames& names = spec.model.names;
  names = {};
  names.embedding = name(naming.embedding);
  names.head = name(naming.head);
  names.final_norm = name(naming.final_norm);
  names.ignored = {"*"};  // the target itself
  spec.head_rows = target.vocab_size;
  spec.token_norm = name(naming.token_norm);
  spec.state_norm = name(naming.state_norm);
  spec.projection = name(naming.projection);
  spec.token_first = naming.token_first;
  spec.passes_normed = naming.passes_normed;
  spec.layers = {std::ssize(target.layers)};
  spec.normed_states = naming.normed_states;
  return spec;
}

Result<std::unique_ptr<Drafter>> make(const DrafterOptions& options) try {
  const DraftPlace& place = options.place;
  std::string known;
  for (const Naming& naming : kNamings) {
    SpeculatorSpec spec = spec_of(naming, place.target->spec(), *place.checkpoint);
    const std::string projection = spec.projection + ".weight";
    if (place.checkpoint->find(projection) != nullptr) {
      return make_feature_drafter(place,
                                  std::make_unique<FeatureSpeculator>(*place.checkpoint, std::move(spec), place));
    }
    known += (known.empty() ? "" : ", ") + projection;
  }
  return make_error(ErrorCode::kUnsupported, "spec-method",
                    "{}: no layers for multi-token prediction that are known: none of {} is there",
                    place.checkpoint->path, known);
} catch (const LoadError& failure) {
  return failure.error();
}

// The same for all families: the layer is of the target's dimensions.
Result<std::size_t> page_bytes(const DrafterOptions& options) {
  const DraftPlace& place = options.place;
  return feature_page_bytes(spec_of(kNamings[0], place.target->spec(), *place.checkpoint), place);
}

}  // namespace

DrafterKind mtp() {
  return {.name = "mtp",
          .description = "the model's own multi-token prediction layer",
          .make = make,
          .page_bytes = page_bytes};
}

}  // namespace millrace::draft::drafters
