#include "decode/candidates.h"

#include <algorithm>
#include <limits>

namespace millrace::decode {

Candidate* find_candidate(Candidates& candidates, std::int32_t token) {
  const auto it = std::ranges::lower_bound(candidates, token, {}, &Candidate::token);
  return it != candidates.end() && it->token == token ? &*it : nullptr;
}

void ban_token(Candidates& candidates, std::int32_t token) {
  if (Candidate* c = find_candidate(candidates, token)) c->logit = -std::numeric_limits<float>::infinity();
}

}  // namespace millrace::decode
