#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::decode {

// How far a model's next-token distributions are from those of a reference: the Kullback-Leibler divergence
// sum of p_ref log(p_ref / p) in nats of each row, and how often both have the same most likely token. Computed in
// double, with the same bits on every processor. One thread.
class Divergence {
 public:
  // Adds a row of logits of both, of the same vocabulary. Three passes over the rows.
  void add(std::span<const float> reference, std::span<const float> logits);

  std::int64_t tokens() const noexcept { return static_cast<std::int64_t>(rows_.size()); }
  // At least one row must have been added.
  double mean() const;
  double error() const;  // standard error of mean(), if rows were independent
  // The divergence that a part of the rows, in [0, 1], does not exceed: 0.5 the median, 1 the largest.
  double quantile(double part) const;
  double same_top() const;  // part of the rows with the same largest logit, the first one of several

 private:
  std::vector<double> rows_;
  std::int64_t same_top_ = 0;
};

}  // namespace millrace::decode
