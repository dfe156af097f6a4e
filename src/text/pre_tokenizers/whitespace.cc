#include "text/char_splitters.h"
#include "text/containers/tokenizer_components.h"

// {"type": "Whitespace"}: runs of word characters and runs of others, without white space (\w+|[^\w\s]+).
namespace millrace::text::pre_tokenizers {

ComponentReader whitespace() {
  return {"Whitespace", [](const JsonNode&, TokenizerParts& parts) {
            parts.add_step(make_class_splitter([](char32_t c) {
              const std::uint8_t classes = unicode::unicode_classes(c);
              if (classes & unicode::kSpace) return CharRole::kDropped;
              return classes & unicode::kWord ? CharRole::kFirstKind : CharRole::kSecondKind;
            }));
          }};
}

}  // namespace millrace::text::pre_tokenizers
