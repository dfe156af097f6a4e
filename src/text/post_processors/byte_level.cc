#include "text/containers/tokenizer_components.h"

// {"type": "ByteLevel", "trim_offsets": true, "add_prefix_space": true}: changes spans only.
namespace millrace::text::post_processors {

ComponentReader byte_level() {
  return {"ByteLevel", [](const JsonNode& node, TokenizerParts& parts) {
            parts.trims_spans = node["trim_offsets"].boolean_or(true);
            parts.trim_keeps_first_space = node["add_prefix_space"].boolean_or(true);
          }};
}

}  // namespace millrace::text::post_processors
