#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::decode {

struct Candidate {
  std::int32_t token;
  float logit;
};
// Tokens that may still be sampled, with their logits, ascending by token. Processors remove some or change logits.
using Candidates = std::vector<Candidate>;

// The candidate of the token; null if it was removed. O(removed tokens below it).
Candidate* find_candidate(Candidates& candidates, std::int32_t token);
// Sets the token's logit to -infinity, which no processor changes. The pipeline removes it after all bans.
void ban_token(Candidates& candidates, std::int32_t token);

float largest_logit(std::span<const Candidate> candidates) noexcept;  // -infinity if there is no candidate
// The candidate with the largest logit; of equal ones the lowest token. There must be at least one.
const Candidate& likeliest(const Candidates& candidates);

}  // namespace millrace::decode
