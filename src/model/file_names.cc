#include "model/file_names.h"

#include <string>

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;

// Modules that checkpoints of several modalities have beside the text model, on their own or inside "model.".
constexpr std::string_view kOtherModalities[] = {
    "vision_tower", "vision_model", "vision_encoder", "vision_embed_tokens", "vision_adapter", "vision_projection",
    "vision_projector", "vision_tokenizer", "visual", "visual_embeddings_table", "vit", "image_tower", "image_newline",
    "video_tower", "high_res_vision_model", "high_res_vision_neck", "high_res_vision_proj", "high_res_vision_alpha",
    "audio_tower", "audio_tokenizer", "encoder", "acoustic_tokenizer_encoder", "semantic_tokenizer_encoder",
    // between them and the text
    "multi_modal_projector", "layerwise_projectors", "spatial_projectors", "projector", "connector", "aligner", "mlp1",
    "mlp_AR", "qformer", "query_tokens", "language_projection", "embed_tokens_extend",
    // what draws images
    "vqmodel", "generation_embeddings", "generation_aligner", "generation_head",
    // of multi-token prediction
    "mtp"};

// Files put the model's names behind that of a larger whole, or leave out what precedes them: finds which of these this
// file does by its embedding.
void find_prefix(const Checkpoint& checkpoint, WeightNames& names) {
  const auto has = [&](const std::string& name) { return checkpoint.find(name + ".weight") != nullptr; };
  const std::size_t dot = names.embedding.rfind('.');
  if (dot == std::string::npos || has(names.embedding)) return;
  const std::string ours = names.embedding.substr(0, dot + 1), last = names.embedding.substr(dot + 1);
  const std::string base = ours.substr(ours.find('.') + 1);  // without "model.", which a model inside another lacks
  for (const std::string& theirs :
       {base, "model.language_model." + base, "language_model." + ours, "model." + ours, "language_model." + base,
        "model.text_model." + base, "text_model." + ours, "model.language_model." + ours}) {
    if (!has(theirs + last)) continue;
    names.renamed.emplace_back(ours, theirs);
    break;
  }
}

// The head may stand behind the whole's name too, or have the one that all heads have in Transformers 5.
void find_head(const Checkpoint& checkpoint, WeightNames& names) {
  const auto has = [&](const std::string& name) { return checkpoint.find(name + ".weight") != nullptr; };
  for (const std::string& theirs : {"language_model." + names.head, "text_model." + names.head,
                                    "model.language_model." + names.head, std::string("lm_head")}) {
    if (!has(names.head) && has(theirs)) {
      names.renamed.emplace_back(names.head, theirs);
      return;
    }
  }
}

}  // namespace

void find_file_names(const Checkpoint& checkpoint, WeightNames& names) {
  if (checkpoint.config.gguf) return;
  find_prefix(checkpoint, names);
  find_head(checkpoint, names);
  if (!checkpoint.config.has_other_modalities()) return;
  for (const std::string_view module : kOtherModalities) {
    for (const std::string& name : {std::string(module), "model." + std::string(module)}) {
      names.ignored.push_back(name);
      names.ignored.push_back(name + ".*");
    }
  }
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (text.substr(0, star) != pattern.substr(0, star)) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t i = star; i <= text.size(); ++i) {
    if (matches_pattern(rest, text.substr(i))) return true;
  }
  return false;
}

}  // namespace millrace::model
