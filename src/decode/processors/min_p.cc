#include <algorithm>
#include <cmath>

#include "decode/candidates.h"

namespace millrace::decode {

// arXiv:2407.01082: drops tokens whose probability is below p times that of the likeliest.
void keep_min_p(double p, Candidates& candidates) {
  if (p <= 0.0 || candidates.empty()) return;
  float maximum = candidates.front().logit;
  for (const Candidate& c : candidates) maximum = std::max(maximum, c.logit);
  const float threshold = maximum + static_cast<float>(std::log(p));
  std::erase_if(candidates, [=](const Candidate& c) { return c.logit < threshold; });
}

}  // namespace millrace::decode
