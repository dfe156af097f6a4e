#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "decode/sampling_params.h"

namespace millrace::decode {

// The tokens still in play, with their logits; processors shrink it or change logits. Ascending by token until the
// first keep_ is called.
struct Candidate {
  std::int32_t token;
  float logit;
};
using Candidates = std::vector<Candidate>;
using TokenCounts = std::unordered_map<std::int32_t, std::int32_t>;

// While they are ascending: the token's, or null.
Candidate* find_candidate(Candidates& candidates, std::int32_t token);
// Its logit becomes -infinity, which no processor changes.
void ban_token(Candidates& candidates, std::int32_t token);

// The processors, one file each in processors/. Each is the identity at its neutral value. Linear in the candidates, no
// full sort.
void ban_bad_words(const std::vector<std::vector<std::int32_t>>& words, std::span<const std::int32_t> answer,
                   Candidates& candidates);
void apply_logit_bias(std::span<const TokenBias> biases, Candidates& candidates);
void apply_repetition_penalty(double penalty, const std::vector<bool>& seen, Candidates& candidates);
void apply_answer_penalties(double presence, double frequency, const TokenCounts& counts, Candidates& candidates);
void apply_temperature(double temperature, Candidates& candidates);  // temperature > 0
void keep_min_p(double p, Candidates& candidates);
void keep_top_k(std::int64_t k, Candidates& candidates);
void keep_top_p(double p, Candidates& candidates);

}  // namespace millrace::decode
