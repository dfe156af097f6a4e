#pragma once

#include <cstdint>
#include <vector>

namespace millrace::decode {

// The tokens still in play, with their logits; processors shrink it or change logits.
struct Candidate {
  std::int32_t token;
  float logit;
};
using Candidates = std::vector<Candidate>;

// The processors, one file each in processors/. Each is the identity at its neutral value. Linear in the candidates, no
// full sort.
void apply_repetition_penalty(double penalty, const std::vector<bool>& seen, Candidates& candidates);
void apply_temperature(double temperature, Candidates& candidates);  // temperature > 0
void keep_top_k(std::int64_t k, Candidates& candidates);
void keep_top_p(double p, Candidates& candidates);
void keep_min_p(double p, Candidates& candidates);

}  // namespace millrace::decode
