#include "text/containers/tokenizer_components.h"
#include "unicode/code_points.h"

// {"type": "CharDelimiterSplit", "delimiter": "-"}: words between a character.
namespace millrace::text::pre_tokenizers {

ComponentReader char_delimiter_split() {
  return {"CharDelimiterSplit", [](const JsonNode& node, TokenizerParts& parts) {
            std::string delimiter = short_text(node["delimiter"]);
            if (delimiter.empty() || unicode::code_point_at(delimiter, 0).size != delimiter.size()) {
              node["delimiter"].wrong("one character");
            }
            parts.add_step(make_literal_splitter(std::move(delimiter), SplitBehavior::kRemoved, false));
          }};
}

}  // namespace millrace::text::pre_tokenizers
