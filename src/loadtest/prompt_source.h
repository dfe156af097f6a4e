#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loadtest/workload.h"

namespace millrace::loadtest {

// Prompts that mean nothing and repeat nothing by chance: token ids where the vocabulary is known, of exactly the
// length asked for; else common English words, each a token in most vocabularies, so that lengths come out close.
class PromptSource {
 public:
  explicit PromptSource(const WorkloadOptions& options) : seed_(options.seed), vocabulary_(options.vocabulary) {}

  // Appends `tokens` tokens to what the turn says. The same `stream` gives the same tokens for every caller: prompts
  // that begin with equal streams share a prefix.
  void append(Turn& turn, std::int64_t tokens, std::uint64_t stream) const;

 private:
  std::uint64_t seed_;
  std::int64_t vocabulary_;
};

// Streams of PromptSource are named by what they are for.
enum class Purpose : std::uint64_t { kOwn = 1, kPrefix = 2, kBranch = 3, kBlock = 4, kDocument = 5 };
inline std::uint64_t stream_of(Purpose purpose, std::uint64_t index) noexcept {
  return static_cast<std::uint64_t>(purpose) << 56 | (index & ((std::uint64_t{1} << 56) - 1));
}

// Numbers of a request's lengths and choices, apart from those of its text.
enum Drawn : std::uint64_t {
  kInputLength = 0,
  kOutputLength = 1,
  kPrefixChoice = 2,
  kModelChoice = 3,
  kTextChoice = 4
};

}  // namespace millrace::loadtest
