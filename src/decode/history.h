#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace millrace::decode {

// How often a token occurs among the tokens that penalties count.
struct Occurrence {
  std::int32_t token = 0;
  std::int32_t anywhere = 0;   // in prompt and answer together; >= 1
  std::int32_t in_answer = 0;  // in the answer
};

// The tokens of a sequence so far, as far as its processors read them. Copies are independent and cheap: they share the
// prompt. One thread.
class History {
 public:
  // What is kept: `tokens` for from_end() and answer(), `counts` for occurrences().
  struct Keeps {
    bool tokens = false, counts = false;
    std::int64_t window = -1;
  };
  History(Keeps keeps, std::int64_t vocab_size);

  // Appends tokens of the prompt. Must be called before the first accept().
  void observe(std::span<const std::int32_t> tokens);
  // Appends the next token of the answer. O(different tokens counted), by moving memory.
  void accept(std::int32_t token);

  std::int64_t answer_size() const noexcept { return answer_size_; }
  // The number of tokens of prompt and answer; and the token `back` positions before the last one, back in [0, size).
  // Only if tokens are kept.
  std::int64_t size() const noexcept { return prompt_size_ + answer_size_; }
  std::int32_t from_end(std::int64_t back) const noexcept {
    const auto i = static_cast<std::size_t>(size() - 1 - back);
    return i < prompt_->size() ? (*prompt_)[i] : answer_[i - prompt_->size()];
  }
  std::span<const std::int32_t> answer() const noexcept { return answer_; }
  // The counted tokens, ascending by token. Only if counts are kept.
  std::span<const Occurrence> occurrences() const noexcept { return occurrences_; }

 private:
  void count(std::int32_t token);
  void forget(std::int32_t token, bool of_answer);

  Keeps keeps_;
  std::int64_t vocab_size_;
  std::shared_ptr<const std::vector<std::int32_t>> prompt_;
  std::vector<std::int32_t> answer_;
  std::vector<Occurrence> occurrences_;
  std::int64_t prompt_size_ = 0, answer_size_ = 0;
};

}  // namespace millrace::decode
