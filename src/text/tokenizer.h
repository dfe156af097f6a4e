#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/token.h"

namespace millrace::text {

class Decoder;
struct MiddleSpelling;
using DecoderList = std::vector<std::unique_ptr<const Decoder>>;

// A vocabulary as in GGUF metadata (tokenizer.ggml.*): plain data, filled by checkpoint/.
struct GgufVocabulary {
  // "gpt2" = byte-level BPE, "llama" = SentencePiece BPE, "t5" and "plamo2" = Unigram, "bert" = WordPiece
  std::string model;
  std::string pre;  // pre-tokenizer name: "smollm", "llama-bpe", "qwen2" ...; may be empty
  std::vector<std::string> tokens;
  std::vector<float> scores;  // empty, or one per token
  std::vector<std::int32_t>
      token_types;  // empty or one a token: 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte
  std::vector<std::string> merges;  // "left right", in order of rank
  std::optional<TokenId> bos, eos, eot, eom, unk, pad, sep;
  MiddleTokens middle_tokens;
  std::optional<bool> add_bos, add_eos, add_sep, add_space_prefix, remove_extra_whitespaces;
  std::optional<bool> lowercase, strip_accents;  // only for "bert"
  std::string precompiled_charsmap;              // SentencePiece's normalization table as bytes; may be empty
};

// Converts between text and token ids, exactly as the model's own tokenizer. Immutable and thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Encodes the concatenated pieces; special tokens are recognised in trusted pieces only. `add_special` adds the BOS
  // and EOS tokens that the vocabulary requires. Invalid UTF-8 is replaced by U+FFFD, as Python's decoder with
  // errors="replace" does. Linear time.
  virtual std::vector<TokenId> encode(std::span<const TextPiece> pieces, bool add_special) const = 0;
  std::vector<TokenId> encode(std::string_view text, bool add_special, bool trusted = true) const;
  // Encodes as encode() does, and gives for each token the text it came from, in whole characters, as Hugging Face's
  // offsets. {0, 0} for tokens that add_special adds. Slower.
  struct Encoding {
    std::vector<TokenId> ids;
    std::vector<TokenSpan> spans;
  };
  virtual Encoding encode_with_spans(std::span<const TextPiece> pieces, bool add_special) const = 0;

  // The text of a sequence, with U+FFFD where tokens do not form UTF-8. Unknown ids are skipped.
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special) const = 0;
  // The bytes of a token within text; a byte-level token may be part of a character. For special tokens their text.
  virtual std::string token_bytes(TokenId id) const = 0;
  // The decoders that Detokenizer applies to the tokens' decoder_text(), which is empty for an unknown id.
  virtual const DecoderList& decoders() const noexcept = 0;
  virtual std::string_view decoder_text(TokenId id) const noexcept { return token_text(id); }

  virtual int vocab_size() const noexcept = 0;  // ids are in [0, vocab_size)
  virtual std::string_view token_text(
      TokenId id) const noexcept = 0;  // as the vocabulary spells it ("\u0120the"); empty if none
  virtual std::optional<TokenId> find(std::string_view token_text) const noexcept = 0;
  virtual bool is_special(TokenId id) const noexcept = 0;  // control tokens, which users do not see
  virtual std::optional<TokenId> bos() const noexcept = 0;
  virtual std::optional<TokenId> eos() const noexcept = 0;
  virtual bool adds_bos() const noexcept = 0;
  // Tokens that end an answer, such as eos and eot.
  virtual std::span<const TokenId> end_of_generation() const noexcept = 0;
  // How texts are spelled whose middle the model shall fill in; null if the vocabulary has no tokens for that.
  virtual const MiddleSpelling* middle_spelling() const noexcept { return nullptr; }
  virtual std::string_view kind() const noexcept = 0;  // for people: "byte-level BPE (smollm)"
};

// Loads the contents of tokenizer.json and of tokenizer_config.json, which may be empty. An unknown component is an
// error naming it. `ends`, here and below: further tokens that end an answer.
Result<std::shared_ptr<const Tokenizer>> load_tokenizer_json(std::string_view tokenizer_json,
                                                             std::string_view tokenizer_config_json,
                                                             std::span<const TokenId> ends = {});
Result<std::shared_ptr<const Tokenizer>> load_gguf_tokenizer(GgufVocabulary vocabulary);
// Loads the contents of a SentencePiece tokenizer.model, BPE or Unigram.
Result<std::shared_ptr<const Tokenizer>> load_sentencepiece_model(std::string_view model,
                                                                  std::string_view tokenizer_config_json,
                                                                  std::span<const TokenId> ends = {});
// Loads the contents of a tiktoken file (lines of "base64 rank"), as of GPT-4, Llama 3, Qwen and Kimi.
Result<std::shared_ptr<const Tokenizer>> load_tiktoken(std::string_view file, std::string_view tokenizer_config_json,
                                                       std::span<const TokenId> ends = {});
// Loads the contents of a tokenizer.jsonl of PLaMo 2 and 3, which names all the tokens that end an answer.
Result<std::shared_ptr<const Tokenizer>> load_plamo_jsonl(std::string_view file, std::string_view tokenizer_config_json,
                                                          std::span<const TokenId> ends = {});

}  // namespace millrace::text
