#include "text/char_splitters.h"
#include "text/containers/tokenizer_components.h"

// {"type": "BertPreTokenizer"}: words between white space, every punctuation character on its own.
namespace millrace::text::pre_tokenizers {

ComponentReader bert() {
  return {"BertPreTokenizer", [](const JsonNode&, TokenizerParts& parts) {
            parts.add_step(make_class_splitter([](char32_t c) {
              if (unicode::unicode_classes(c) & unicode::kSpace) return CharRole::kDropped;
              return is_bert_punctuation(c) ? CharRole::kAlone : CharRole::kFirstKind;
            }));
          }};
}

}  // namespace millrace::text::pre_tokenizers
