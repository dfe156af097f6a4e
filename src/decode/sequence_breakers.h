#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace millrace::decode {

// The strings at which a repetition ends for the DRY sampler, as tokens. Immutable; may be shared by threads.
class SequenceBreakers {
 public:
  // The functions of a tokenizer that are needed here.
  struct Vocabulary {
    std::int64_t size = 0;
    std::function<std::string(std::int32_t)> bytes;                       // bytes of a token within a text
    std::function<std::vector<std::int32_t>(const std::string&)> encode;  // tokens of a string within a text
  };
  // A token that contains one of `strings` is a breaker by itself. A token that ends with the beginning of one is a
  // breaker if the tokens of the rest follow. Reads the whole vocabulary: a few milliseconds.
  SequenceBreakers(std::span<const std::string> strings, const Vocabulary& vocabulary);
  // The strings alone, for find_sequence_breakers() in another process: of these no token breaks.
  explicit SequenceBreakers(std::vector<std::string> strings) : strings_(std::move(strings)) {}

  const std::vector<std::string>& strings() const noexcept { return strings_; }
  bool found() const noexcept { return !alone_.empty(); }  // the tokens; else it has the strings alone

  bool breaks_alone(std::int32_t token) const noexcept {
    return static_cast<std::size_t>(token) < alone_.size() && alone_[static_cast<std::size_t>(token)];
  }
  // The number of tokens after the last breaker; all if there is none. `backwards` is the sequence with the last token
  // first.
  std::int64_t since_last(std::span<const std::int32_t> backwards) const noexcept;
  std::size_t memory() const noexcept;  // bytes

 private:
  struct Sequence {
    std::int32_t head;
    std::vector<std::int32_t> tail;  // not empty
  };
  void add_overlaps(const std::string& text, const Vocabulary& vocabulary);

  std::vector<std::string> strings_;
  std::vector<bool> alone_;
  std::vector<Sequence> sequences_;  // ascending by head
};

// Finds the breakers in a tokenizer's vocabulary. BreakerCache keeps them for many requests.
std::shared_ptr<const SequenceBreakers> find_sequence_breakers(std::span<const std::string> strings,
                                                               const text::Tokenizer& tokenizer);

// The default of llama.cpp.
inline const std::vector<std::string> kDefaultSequenceBreakers = {"\n", ":", "\"", "*"};

}  // namespace millrace::decode
