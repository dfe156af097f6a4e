#include "text/bpe/byte_alphabet.h"
#include "text/containers/tokenizer_components.h"
#include "text/regex/known_expressions.h"

// {"type": "ByteLevel", "add_prefix_space": true, "use_regex": true}: GPT-2's. Words are spelled in its byte alphabet;
// where nothing comes after, the model reads their bytes instead, which is the same and faster.
namespace millrace::text::pre_tokenizers {
namespace {

// A space before every word that does not begin with one.
class PrefixSpace final : public WordRewriter {
 public:
  void append(const MarkedText& source, Word word, bool, MarkedText& out) const override {
    if (source.text()[word.begin] != ' ') out.append_in_front(" ", source, word.begin);
    out.append(source, word.begin, word.end);
  }
};

void read_byte_level(const JsonNode& node, TokenizerParts& parts) {
  if (node["add_prefix_space"].boolean_or(true)) parts.add_step(std::make_unique<PrefixSpace>());
  if (node["use_regex"].boolean_or(true)) parts.add_step(make_known_splitter(kGpt2Regex));
  parts.spell_bytes();
}

}  // namespace

ComponentReader byte_level() { return {"ByteLevel", read_byte_level}; }

}  // namespace millrace::text::pre_tokenizers
