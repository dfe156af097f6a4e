#include "text/char_splitters.h"
#include "text/containers/tokenizer_components.h"

// {"type": "Punctuation", "behavior": "Isolated"}
namespace millrace::text::pre_tokenizers {

ComponentReader punctuation() {
  return {"Punctuation", [](const JsonNode& node, TokenizerParts& parts) {
            const JsonNode behavior = node["behavior"];
            parts.add_step(make_char_splitter(
                is_bert_punctuation, behavior.is_null() ? SplitBehavior::kIsolated : split_behavior(behavior)));
          }};
}

}  // namespace millrace::text::pre_tokenizers
