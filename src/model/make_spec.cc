#include "model/make_spec.h"

#include <array>
#include <string>

#include "model/block.h"
#include "model/model_family.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;

std::string known_architectures() {
  std::string text;
  for (const ModelFamily& family : all_families()) {
    for (const std::string_view name : family.hf) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

// What checkpoints of several modalities have beside the text model.
constexpr std::array kOtherModalities = {"vision_tower.*", "model.vision_tower.*", "vision_model.*",
                                         "visual.*", "model.visual.*", "audio_tower.*",
                                         "model.audio_tower.*", "multi_modal_projector.*",
                                         "model.multi_modal_projector.*", "model.vision_adapter.*", "model.vision_projection.*", "vision_projection.*", "mtp.*"};

// Files put the model's names behind that of a larger whole, or leave out what precedes them: finds which of these this
// file does by its embedding.
void find_prefix(const Checkpoint& checkpoint, WeightNames& names) {
  const auto has = [&](const std::string& name) { return checkpoint.find(name + ".weight") != nullptr; };
  const std::size_t dot = names.embedding.rfind('.');
  if (dot == std::string::npos || has(names.embedding)) return;
  const std::string ours = names.embedding.substr(0, dot + 1), last = names.embedding.substr(dot + 1);
  for (const std::string& theirs :
       {std::string(), "model.language_model." + std::string(), "language_model." + ours, "model." + ours,
        std::string("language_model."), std::string("model.text_model.")}) {
    if (!has(theirs + last)) continue;
    names.renamed.emplace_back(ours, theirs);
    break;
  }
}

// The head may stand behind the whole's name too, or have the one that all heads have in Transformers 5.
void find_head(const Checkpoint& checkpoint, WeightNames& names) {
  const auto has = [&](const std::string& name) { return checkpoint.find(name + ".weight") != nullptr; };
  for (const std::string& theirs : {"language_model." + names.head, std::string("lm_head")}) {
    if (!has(names.head) && has(theirs)) {
      names.renamed.emplace_back(names.head, theirs);
      return;
    }
  }
}

bool has_other_modalities(const checkpoint::ConfigFile& config) {
  return !config.text_type.empty() || config.json.contains("vision_config") || config.json.contains("audio_config");
}

}  // namespace

Result<ModelSpec> make_spec(const Checkpoint& checkpoint, const backend::Limits& limits) try {
  const ModelFamily* family = find_family(checkpoint.config);
  if (family == nullptr) {
    return make_error(ErrorCode::kUnsupported, "architecture", "{}: unknown architecture '{}'; known: {}",
                      checkpoint.path, checkpoint.config.architecture, known_architectures());
  }
  checkpoint::ConfigView view(checkpoint.config, family->defaults.json);
  ModelConfig config = read_shared_config(view, family->defaults);
  check_quantization(checkpoint);
  complete_from_tensors(checkpoint, config);
  ModelSpec spec = family->spec(view, config);
  view.check_unread(known_fields());
  spec.unread_fields = view.unread();
  spec.family = family->name;
  if (!view.gguf()) {
    find_prefix(checkpoint, spec.names);
    find_head(checkpoint, spec.names);
  }
  if (has_other_modalities(checkpoint.config)) {
    spec.names.ignored.insert(spec.names.ignored.end(), kOtherModalities.begin(), kOtherModalities.end());
  }
  if (auto checked = check_dimensions(spec, limits); !checked) return checked.error();
  return spec;
} catch (const LoadError& failure) {
  return failure.error();
}

}  // namespace millrace::model
