#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace millrace::decode {

// The strings that end a repetition for the DRY sampler, as tokens. Immutable, shared by the answers of a request.
class SequenceBreakers {
 public:
  // What a tokenizer knows, as far as it matters here.
  struct Vocabulary {
    std::int64_t size = 0;
    std::function<std::string(std::int32_t)> bytes;                       // of a token inside a text
    std::function<std::vector<std::int32_t>(const std::string&)> encode;  // inside a text
  };
  // A token that has a string in it breaks alone; one that ends with a string's beginning does if the tokens of the
  // rest follow. Reads the whole vocabulary: a few milliseconds.
  SequenceBreakers(std::span<const std::string> strings, const Vocabulary& vocabulary);
  // The strings alone, for find_sequence_breakers() in another process: of these no token breaks.
  explicit SequenceBreakers(std::vector<std::string> strings) : strings_(std::move(strings)) {}

  const std::vector<std::string>& strings() const noexcept { return strings_; }
  bool found() const noexcept { return !alone_.empty(); }  // the tokens; else it has the strings alone

  bool breaks_alone(std::int32_t token) const noexcept {
    return static_cast<std::size_t>(token) < alone_.size() && alone_[static_cast<std::size_t>(token)];
  }
  // How many tokens there are behind the last breaker, the last token first in `backwards`; all if it has none.
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

// See BreakerCache for many requests.
std::shared_ptr<const SequenceBreakers> find_sequence_breakers(std::span<const std::string> strings,
                                                               const text::Tokenizer& tokenizer);

// What llama.cpp has.
inline const std::vector<std::string> kDefaultSequenceBreakers = {"\n", ":", "\"", "*"};

}  // namespace millrace::decode
