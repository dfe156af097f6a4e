#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::server {

// What one request may ask for; lengths of texts in characters. The one table: validation, the OpenAPI document and the
// docs all read it.
struct RequestLimits {
  static constexpr std::int64_t kChoices = 16;  // n, best_of
  static constexpr std::size_t kPrompts = 64;   // of one completion request, and texts to embed times 16
  static constexpr std::size_t kEmbeddings = 1024;
  static constexpr std::size_t kStops = 16, kStopLength = 256;
  static constexpr std::size_t kStopTokenIds = 64;
  static constexpr std::size_t kBadWords = 64, kBadWordLength = 256;
  static constexpr std::size_t kBreakers = 32, kBreakerLength = 64;  // of DRY
  static constexpr std::size_t kLogitBias = 300, kAllowedTokens = 4096;
  static constexpr std::int64_t kLogprobs = 20;
  static constexpr std::size_t kNameLength = 256;  // of a model, a user
  static constexpr std::size_t kSaltLength = 128;
  static constexpr std::size_t kPathLength = 4096;
  static constexpr std::size_t kGrammarBytes = 64 * 1024;  // of a schema, a regular expression, a grammar
  static constexpr std::size_t kGrammarChoices = 4096;
  static constexpr std::size_t kToolName = 128;
  static constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;
};

}  // namespace millrace::server
