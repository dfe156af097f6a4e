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

// In lanes, as one maximum would wait for the one before: a quarter of the time.
float largest_logit(std::span<const Candidate> candidates) noexcept {
  float lanes[8];
  for (float& lane : lanes) lane = -std::numeric_limits<float>::infinity();
  std::size_t i = 0;
  for (; i + 8 <= candidates.size(); i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] = std::max(lanes[lane], candidates[i + lane].logit);
  }
  for (; i < candidates.size(); ++i) lanes[0] = std::max(lanes[0], candidates[i].logit);
  return *std::ranges::max_element(lanes);
}

const Candidate& likeliest(const Candidates& candidates) {
  const auto it = std::ranges::find(candidates, largest_logit(candidates), &Candidate::logit);
  return it == candidates.end() ? candidates.front() : *it;
}

}  // namespace millrace::decode
