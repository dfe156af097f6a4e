#include "text/containers/tokenizer_components.h"

// {"type": "Sequence", "pretokenizers": [...]}
namespace millrace::text::pre_tokenizers {

ComponentReader sequence() {
  return {"Sequence", [](const JsonNode& node, TokenizerParts& parts) {
            for (const JsonNode& item : node["pretokenizers"].items()) read_pre_tokenizer(item, parts);
          }};
}

}  // namespace millrace::text::pre_tokenizers
