#include "text/containers/tokenizer_components.h"

// {"type": "Sequence", "normalizers": [...]}
namespace millrace::text::normalizers {

ComponentReader sequence() {
  return {"Sequence", [](const JsonNode& node, TokenizerParts& parts) {
            for (const JsonNode& item : node["normalizers"].items()) read_normalizer(item, parts);
          }};
}

}  // namespace millrace::text::normalizers
