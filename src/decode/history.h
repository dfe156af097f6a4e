#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace millrace::decode {

// How often a token is among those that penalties look at.
struct Occurrence {
  std::int32_t token = 0;
  std::int32_t anywhere = 0;   // in prompt and answer, >= 1
  std::int32_t in_answer = 0;  // of these
};

// What was said before, as far as a processor will ask. A copy is cheap, as copies have one prompt, and independent.
class History {
 public:
  // `window`: only the last so many tokens are counted; -1 = all.
  struct Keeps {
    bool tokens = false, counts = false;
    std::int64_t window = -1;
  };
  History(Keeps keeps, std::int64_t vocab_size);

  // Tokens of the prompt: before the first one of the answer.
  void observe(std::span<const std::int32_t> tokens);
  // The next one of the answer. Linear in the number of different tokens counted, a copy of memory.
  void accept(std::int32_t token);

  std::int64_t answer_size() const noexcept { return answer_size_; }
  // Tokens of prompt and answer, if they are kept: how many, and the one `back` before the end, [0, size).
  std::int64_t size() const noexcept { return prompt_size_ + answer_size_; }
  std::int32_t from_end(std::int64_t back) const noexcept {
    const auto i = static_cast<std::size_t>(size() - 1 - back);
    return i < prompt_->size() ? (*prompt_)[i] : answer_[i - prompt_->size()];
  }
  std::span<const std::int32_t> answer() const noexcept { return answer_; }
  // Ascending by token, if counts are kept.
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
