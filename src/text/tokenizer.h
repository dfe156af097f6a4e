#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::text {

using TokenId = std::int32_t;

// A stretch of text to encode. Special tokens are recognised only where the text is trusted (template literals), never
// in what a user or a tool wrote: `<|im_start|>` in a message is plain text.
struct TextPiece {
  std::string text;
  bool trusted = false;
};

// The vocabulary as GGUF metadata hold it (tokenizer.ggml.*): plain data, filled by checkpoint/.
struct GgufVocabulary {
  std::string model;  // "gpt2" = byte-level BPE, "llama" = SentencePiece BPE
  std::string pre;    // pre-tokenizer name: "smollm", "llama-bpe", "qwen2" ...; may be empty
  std::vector<std::string> tokens;
  std::vector<float> scores;  // empty or one a token
  std::vector<std::int32_t>
      token_types;  // empty or one a token: 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte
  std::vector<std::string> merges;  // "left right", in rank order
  std::optional<TokenId> bos, eos, eot, unk, pad;
  std::optional<bool> add_bos, add_eos, add_space_prefix;
};

// Text <-> token ids, exactly as the model's authors meant. Immutable and thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // `add_special`: put the BOS/EOS tokens that the vocabulary asks for around the text.
  // The pieces are encoded as one string; only the recognition of special tokens is limited to trusted pieces.
  // Time linear in the text. Invalid UTF-8 is replaced by U+FFFD, as Python's decoder with errors="replace" would.
  virtual std::vector<TokenId> encode(std::span<const TextPiece> pieces, bool add_special) const = 0;
  std::vector<TokenId> encode(std::string_view text, bool add_special, bool trusted = true) const;

  // The text of whole sequences; may hold U+FFFD where tokens do not form UTF-8. Unknown ids are skipped.
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special) const = 0;
  // The raw bytes one token stands for inside a text (a byte-level token may be part of a character). Special tokens:
  // their text.
  virtual std::string token_bytes(TokenId id) const = 0;
  // SentencePiece-style decoders strip the one leading space of a text; byte-level ones do not.
  virtual bool strips_leading_space() const noexcept = 0;
  // A token that stands for one byte beside a vocabulary of characters ("<0x0A>"); token_bytes gives the byte.
  virtual bool is_byte_fallback(TokenId) const noexcept { return false; }

  virtual int vocab_size() const noexcept = 0;  // ids are in [0, vocab_size)
  virtual std::string_view token_text(
      TokenId id) const noexcept = 0;  // as the vocabulary spells it ("\u0120the"); empty if none
  virtual std::optional<TokenId> find(std::string_view token_text) const noexcept = 0;
  virtual bool is_special(TokenId id) const noexcept = 0;  // control tokens: not shown to users
  virtual std::optional<TokenId> bos() const noexcept = 0;
  virtual std::optional<TokenId> eos() const noexcept = 0;
  virtual bool adds_bos() const noexcept = 0;
  // eos, eot and their like: any of these ends an answer.
  virtual std::span<const TokenId> end_of_generation() const noexcept = 0;
  virtual std::string_view kind() const noexcept = 0;  // "byte-level BPE (smollm)": for people
};

// From the contents of tokenizer.json and (may be empty) tokenizer_config.json. An unknown component is refused by its
// name.
Result<std::shared_ptr<const Tokenizer>> load_tokenizer_json(std::string_view tokenizer_json,
                                                             std::string_view tokenizer_config_json);
Result<std::shared_ptr<const Tokenizer>> load_gguf_tokenizer(GgufVocabulary vocabulary);

}  // namespace millrace::text
