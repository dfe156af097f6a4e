#include <algorithm>

#include "decode/candidates.h"

namespace millrace::decode {

// Ties at the border go to the lower token id, so that the set does not depend on the order of candidates.
void keep_top_k(std::int64_t k, Candidates& candidates) {
  if (k <= 0 || k >= static_cast<std::int64_t>(candidates.size())) return;
  std::nth_element(candidates.begin(), candidates.begin() + (k - 1), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
                   });
  candidates.resize(static_cast<std::size_t>(k));
}

}  // namespace millrace::decode
