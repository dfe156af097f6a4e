#include "text/word_piece_model.h"

#include "text/containers/tokenizer_components.h"

// {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
// "vocab": {"the": 0, "##s": 1, ...}}
namespace millrace::text::models {
namespace {

constexpr std::size_t kMaxPrefixBytes = 64;
constexpr std::int64_t kMaxWordCharacters = 1'000'000;

void read_word_piece(const JsonNode& node, TokenizerParts& parts) {
  WordPieceOptions options;
  options.unk = parts.find(node["unk_token"].string_or("[UNK]"));
  options.continuing_prefix = node["continuing_subword_prefix"].string_or("##");
  if (options.continuing_prefix.size() > kMaxPrefixBytes) {
    node["continuing_subword_prefix"].wrong("a string of at most 64 bytes");
  }
  if (const JsonNode limit = node["max_input_chars_per_word"]; !limit.is_null()) {
    if (limit.integer() < 0 || limit.integer() > kMaxWordCharacters) limit.wrong("a number from 0 to 1000000");
    options.max_word_characters = static_cast<std::size_t>(limit.integer());
  }
  if (parts.pre_tokenizer.byte_level) parts.spell_words();
  parts.kind = "WordPiece";
  const StringTable forms = make_forms(parts.texts, hidden_tokens(parts, {.prefix = options.continuing_prefix}), false);
  parts.model = std::make_unique<WordPieceModel>(std::move(options), forms);
}

}  // namespace

ComponentReader word_piece() { return {"WordPiece", read_word_piece}; }

}  // namespace millrace::text::models
