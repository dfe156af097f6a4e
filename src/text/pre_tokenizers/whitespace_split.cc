#include "text/char_splitters.h"
#include "text/containers/tokenizer_components.h"

// {"type": "WhitespaceSplit"}: words between white space.
namespace millrace::text::pre_tokenizers {

ComponentReader whitespace_split() {
  return {"WhitespaceSplit", [](const JsonNode&, TokenizerParts& parts) {
            parts.add_step(make_class_splitter([](char32_t c) {
              return unicode::unicode_classes(c) & unicode::kSpace ? CharRole::kDropped : CharRole::kFirstKind;
            }));
          }};
}

}  // namespace millrace::text::pre_tokenizers
