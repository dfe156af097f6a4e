#include "text/containers/tokenizer_components.h"

// {"type": "Sequence", "decoders": [...]}
namespace millrace::text::decoders {

ComponentReader sequence() {
  return {"Sequence", [](const JsonNode& node, TokenizerParts& parts) {
            for (const JsonNode& item : node["decoders"].items()) read_decoder(item, parts);
          }};
}

}  // namespace millrace::text::decoders
