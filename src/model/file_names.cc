#include "model/file_names.h"

#include <array>
#include <string>

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;

// What checkpoints of several modalities have beside the text model.
constexpr std::array kOtherModalities = {"vision_tower.*",
                                         "model.vision_tower.*",
                                         "vision_model.*",
                                         "visual.*",
                                         "model.visual.*",
                                         "audio_tower.*",
                                         "model.audio_tower.*",
                                         "multi_modal_projector.*",
                                         "model.multi_modal_projector.*",
                                         "model.vision_adapter.*",
                                         "model.vision_projection.*",
                                         "vision_projection.*",
                                         "mtp.*"};

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

void find_file_names(const Checkpoint& checkpoint, WeightNames& names) {
  if (checkpoint.config.gguf) return;
  find_prefix(checkpoint, names);
  find_head(checkpoint, names);
  if (!has_other_modalities(checkpoint.config)) return;
  names.ignored.insert(names.ignored.end(), kOtherModalities.begin(), kOtherModalities.end());
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
