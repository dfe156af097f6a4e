#include "decode/divergence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/portable_math.h"
#include "decode/softmax.h"

namespace millrace::decode {

void Divergence::add(std::span<const float> reference, std::span<const float> logits) {
  DCHECK(reference.size() == logits.size());
  const double of_reference = log_sum_exp(reference), own = log_sum_exp(logits);
  double sum = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double log_p = static_cast<double>(reference[i]) - of_reference;
    const double p = portable_exp(log_p);
    if (p > 0.0) sum += p * (log_p - (static_cast<double>(logits[i]) - own));
  }
  rows_.push_back(sum);
  if (std::ranges::max_element(reference) - reference.begin() == std::ranges::max_element(logits) - logits.begin()) {
    ++same_top_;
  }
}

double Divergence::mean() const {
  return std::accumulate(rows_.begin(), rows_.end(), 0.0) / static_cast<double>(rows_.size());
}

double Divergence::error() const {
  double squares = 0.0;
  const double middle = mean();
  for (const double row : rows_) squares += (row - middle) * (row - middle);
  return std::sqrt(squares) / static_cast<double>(rows_.size());
}

double Divergence::quantile(double part) const {
  std::vector<double> sorted = rows_;
  std::ranges::sort(sorted);
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(part * last))];
}

double Divergence::same_top() const { return static_cast<double>(same_top_) / static_cast<double>(rows_.size()); }

}  // namespace millrace::decode
