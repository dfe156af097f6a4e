#include "text/bert_frame.h"

// {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": true, "add_prefix_space": true}
namespace millrace::text::post_processors {

ComponentReader roberta() {
  return {"RobertaProcessing", [](const JsonNode& node, TokenizerParts& parts) {
            read_bert_frame(node, parts);
            parts.trims_spans = node["trim_offsets"].boolean_or(true);
            parts.trim_keeps_first_space = node["add_prefix_space"].boolean_or(true);
          }};
}

}  // namespace millrace::text::post_processors
