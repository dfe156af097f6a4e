#include "text/word_level_model.h"

#include "text/containers/tokenizer_components.h"

// {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"the": 0, ...}}
namespace millrace::text::models {
namespace {

void read_word_level(const JsonNode& node, TokenizerParts& parts) {
  if (parts.pre_tokenizer.byte_level) parts.spell_words();
  parts.kind = "WordLevel";
  parts.model = std::make_unique<WordLevelModel>(parts.find(node["unk_token"].string_or("<unk>")),
                                                 make_forms(parts.texts, hidden_tokens(parts), false));
}

}  // namespace

ComponentReader word_level() { return {"WordLevel", read_word_level}; }

}  // namespace millrace::text::models
