#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::decode {

struct Candidate {
  std::int32_t token;
  float logit;
};
// The tokens still in play with their logits, ascending by token; processors leave some out or change logits.
using Candidates = std::vector<Candidate>;

// The token's, or null. Cheap while few tokens below it are missing.
Candidate* find_candidate(Candidates& candidates, std::int32_t token);
// Its logit becomes -infinity, which no processor changes; the pipeline leaves it out once all bans are known.
void ban_token(Candidates& candidates, std::int32_t token);

float largest_logit(std::span<const Candidate> candidates) noexcept;  // -infinity of none
// The candidate of the largest logit; the lowest token among equals. There is at least one.
const Candidate& likeliest(const Candidates& candidates);

}  // namespace millrace::decode
