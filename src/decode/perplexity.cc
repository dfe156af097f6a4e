#include "decode/perplexity.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/portable_math.h"
#include "decode/softmax.h"

namespace millrace::decode {

void Perplexity::add(std::span<const float> logits, std::int32_t token) {
  DCHECK(token >= 0 && token < std::ssize(logits));
  const double surprise = log_sum_exp(logits) - static_cast<double>(logits[static_cast<std::size_t>(token)]);
  total_ += surprise;
  squares_ += surprise * surprise;
  ++tokens_;
}

double Perplexity::value() const noexcept { return portable_exp(mean()); }

double Perplexity::error() const noexcept {
  const double n = static_cast<double>(tokens_);
  const double deviation = std::sqrt(std::max(0.0, squares_ / n - mean() * mean()));
  return deviation / std::sqrt(n) * value();
}

}  // namespace millrace::decode
