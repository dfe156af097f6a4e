#include "text/containers/tokenizer_components.h"

// {"type": "Sequence", "processors": [...]}
namespace millrace::text::post_processors {

ComponentReader sequence() {
  return {"Sequence", [](const JsonNode& node, TokenizerParts& parts) {
            for (const JsonNode& item : node["processors"].items()) read_post_processor(item, parts);
          }};
}

}  // namespace millrace::text::post_processors
