#pragma once

#include <cstdint>
#include <span>

namespace millrace::decode {

// Perplexity of a text: exp of the mean of -log p over its tokens, with p the softmax of the unchanged logits. Computed
// in double, with the same bits on every processor; the order of the tokens may change the last bits. One thread.
class Perplexity {
 public:
  // Adds a token of the text, in [0, logits.size()), with the row of logits that predicts it. A row with a NaN, or
  // without a finite largest logit, makes value() NaN from then on. Two passes over the row.
  void add(std::span<const float> logits, std::int32_t token);

  std::int64_t tokens() const noexcept { return tokens_; }
  // The perplexity so far. At least one token must have been added; error() needs one too.
  double value() const noexcept;
  double error() const noexcept;  // standard error of value(), if tokens were independent

 private:
  double mean() const noexcept { return total_ / static_cast<double>(tokens_); }

  double total_ = 0.0, squares_ = 0.0;  // of -log p, in nats
  std::int64_t tokens_ = 0;
};

}  // namespace millrace::decode
