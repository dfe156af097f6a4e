#include "decode/candidates.h"

#include <algorithm>
#include <limits>

namespace millrace::decode {

// With m tokens missing below the last one, token t lies at t - m or up to m places behind that.
Candidate* find_candidate(Candidates& candidates, std::int32_t token) {
  if (candidates.empty() || token > candidates.back().token) return nullptr;
  const std::ptrdiff_t size = std::ssize(candidates);
  const std::ptrdiff_t missing = candidates.back().token + 1 - size;
  const auto begin = candidates.begin() + std::clamp<std::ptrdiff_t>(token - missing, 0, size);
  const auto end = candidates.begin() + std::clamp<std::ptrdiff_t>(std::ptrdiff_t{token} + 1, 0, size);
  const auto it = std::ranges::lower_bound(begin, end, token, {}, &Candidate::token);
  return it != end && it->token == token ? &*it : nullptr;
}

void ban_token(Candidates& candidates, std::int32_t token) {
  if (Candidate* c = find_candidate(candidates, token)) c->logit = -std::numeric_limits<float>::infinity();
}

const Candidate& likeliest(const Candidates& candidates) {
  const Candidate* best = &candidates.front();
  for (const Candidate& c : candidates) {
    if (c.logit > best->logit) best = &c;
  }
  return *best;
}

}  // namespace millrace::decode
