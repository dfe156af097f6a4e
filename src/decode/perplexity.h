#pragma once

#include <cstdint>
#include <span>

namespace millrace::decode {

// How well a model foretells a text: exp of the mean of -log p over its tokens, p by the softmax of the logits as they
// are. In double, the same bits on every processor; the order of the tokens counts for the last of them. One thread.
class Perplexity {
 public:
  // A token that followed, [0, logits.size()), and the row that foretold it. A row with a NaN or without a finite
  // largest logit makes all that follows NaN. One pass for the largest, one for the sum.
  void add(std::span<const float> logits, std::int32_t token);

  std::int64_t tokens() const noexcept { return tokens_; }
  // value() and error() need at least one token.
  double value() const noexcept;
  double error() const noexcept;  // standard error of value(), as if the tokens were independent

 private:
  double mean() const noexcept { return total_ / static_cast<double>(tokens_); }

  double total_ = 0.0, squares_ = 0.0;  // of -log p, in nats
  std::int64_t tokens_ = 0;
};

}  // namespace millrace::decode
