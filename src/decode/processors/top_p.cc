#include <algorithm>
#include <cmath>

#include "decode/candidates.h"

namespace millrace::decode {

// Nucleus sampling (arXiv:1904.09751): the likeliest tokens until their probabilities sum to p; at least one. A heap
// instead of a sort: the nucleus is small, the vocabulary is not.
void keep_top_p(double p, Candidates& candidates) {
  if (p >= 1.0 || candidates.size() < 2) return;
  const auto less_likely = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit < b.logit : a.token > b.token;
  };
  std::make_heap(candidates.begin(), candidates.end(), less_likely);
  const double maximum = candidates.front().logit;
  double total = 0.0;
  for (const Candidate& c : candidates) total += std::exp(static_cast<double>(c.logit) - maximum);
  double sum = 0.0;
  auto end = candidates.end();
  while (end != candidates.begin() && sum < p * total) {
    std::pop_heap(candidates.begin(), end, less_likely);
    --end;
    sum += std::exp(static_cast<double>(end->logit) - maximum);
  }
  candidates.erase(candidates.begin(), end);
}

}  // namespace millrace::decode
