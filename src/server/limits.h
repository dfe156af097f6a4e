#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::server {

// Limits of the fields of one request. Lengths of texts are in characters, of grammars in bytes; other sizes are
// numbers of entries. Validation and the OpenAPI document both take their limits from here.
struct RequestLimits {
  static constexpr std::int64_t kChoices = 16;                  // n, best_of
  static constexpr std::size_t kPrompts = 64;                   // prompts of one completion request
  static constexpr std::size_t kEmbeddings = 1024;              // inputs of one embedding request
  static constexpr std::size_t kStops = 16, kStopLength = 256;  // stop strings
  static constexpr std::size_t kStopTokenIds = 64;
  static constexpr std::size_t kBadWords = 64, kBadWordLength = 256;
  static constexpr std::size_t kBreakers = 32, kBreakerLength = 64;      // sequence breakers of DRY
  static constexpr std::size_t kLogitBias = 300, kAllowedTokens = 4096;  // token ids
  static constexpr std::int64_t kLogprobs = 20;     // logprobs, top_logprobs, prompt_logprobs: top tokens per position
  static constexpr std::size_t kNameLength = 256;   // name of a model, an adapter or a session; request_id
  static constexpr std::size_t kSaltLength = 128;   // cache_salt
  static constexpr std::size_t kPathLength = 4096;  // lora_path
  static constexpr std::size_t kGrammarBytes = 64 * 1024;  // text of a JSON schema, a regular expression or a grammar
  static constexpr std::size_t kGrammarChoices = 4096;     // texts of a choice
  static constexpr std::size_t kToolName = 128;            // name of a function, all of its characters ASCII
  static constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;  // max_tokens, and other numbers of tokens
};

}  // namespace millrace::server
