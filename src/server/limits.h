#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::server {

// Limits of one request; lengths of texts in characters. Validation, the OpenAPI document and the docs read this table.
struct RequestLimits {
  static constexpr std::int64_t kChoices = 16;  // n, best_of
  static constexpr std::size_t kPrompts = 64;   // prompts of a completion request
  static constexpr std::size_t kEmbeddings = 1024;
  static constexpr std::size_t kStops = 16, kStopLength = 256;
  static constexpr std::size_t kStopTokenIds = 64;
  static constexpr std::size_t kBadWords = 64, kBadWordLength = 256;
  static constexpr std::size_t kBreakers = 32, kBreakerLength = 64;  // DRY's sequence breakers
  static constexpr std::size_t kLogitBias = 300, kAllowedTokens = 4096;
  static constexpr std::int64_t kLogprobs = 20;
  static constexpr std::size_t kNameLength = 256;  // of models and users
  static constexpr std::size_t kSaltLength = 128;
  static constexpr std::size_t kPathLength = 4096;
  static constexpr std::size_t kGrammarBytes = 64 * 1024;  // of a schema, regular expression or grammar
  static constexpr std::size_t kGrammarChoices = 4096;
  static constexpr std::size_t kToolName = 128;
  static constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;
};

}  // namespace millrace::server
