#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loadtest/workload.h"

namespace millrace::loadtest {

// Prompts of random content without accidental repetition. If the vocabulary is known, they are token ids of exactly
// the wanted length; else common English words, each of which is one token in most vocabularies, so that lengths are
// approximate.
class PromptSource {
 public:
  explicit PromptSource(const WorkloadOptions& options) : seed_(options.seed), vocabulary_(options.vocabulary) {}

  // Appends `tokens` tokens to the turn's prompt. The same `stream` always gives the same tokens: prompts that begin
  // with equal streams share a prefix.
  void append(Turn& turn, std::int64_t tokens, std::uint64_t stream) const;

 private:
  std::uint64_t seed_;
  std::int64_t vocabulary_;
};

// The use of a stream of PromptSource, which is part of its name.
enum class Purpose : std::uint64_t { kOwn = 1, kPrefix = 2, kBranch = 3, kBlock = 4, kDocument = 5 };
inline std::uint64_t stream_of(Purpose purpose, std::uint64_t index) noexcept {
  return static_cast<std::uint64_t>(purpose) << 56 | (index & ((std::uint64_t{1} << 56) - 1));
}

// Numbers of a request's random lengths and choices, which are independent of its text.
enum Drawn : std::uint64_t {
  kInputLength = 0,
  kOutputLength = 1,
  kPrefixChoice = 2,
  kModelChoice = 3,
  kTextChoice = 4,
  kBaseChoice = 5
};

}  // namespace millrace::loadtest
