#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "decode/logits_pipeline.h"

namespace millrace::decode {

// A draft token for one position.
struct DraftedToken {
  std::int32_t token = 0;
  // The distribution it was sampled from: ascending by token, probabilities > 0 with sum 1, sampled with random numbers
  // of no Purpose::kAccept or kResidual. Empty: the drafter chose it with certainty.
  std::span<const TokenProbability> distribution;
};

struct Verdict {
  std::int32_t token = 0;  // the answer's token at this position
  bool accepted = false;   // it is the draft token, so the draft of the next position may be verified
};

// A rule by which draft tokens become tokens of the answer. Each is a file in verification/. Whatever the draft, the
// token at a position has exactly the distribution that target.sample() samples from, given the tokens before. A
// function of the row, the position, the draft of it, and the seed. The caller lets the target accept() the token
// before the next position. Errors are those of sample().
struct VerificationRule {
  std::string_view name;
  std::string_view summary;
  bool same_tokens;  // the tokens are those without speculation, not only their distribution
  Result<Verdict> (*next)(LogitsPipeline& target, std::span<const float> logits, std::int64_t position,
                          const std::optional<DraftedToken>& drafted);
  // The number of tokens to draft, in [0, most]. `acceptance`, in [0, 1], is the probability that one is accepted,
  // `cost_ratio` the time of drafting one over that of a target's step. Null: the rule has no preference.
  int (*draft_length)(double acceptance, double cost_ratio, int most);
};
std::span<const VerificationRule> all_verification_rules();  // generated from the files
// Null if there is none of that name.
const VerificationRule* find_verification_rule(std::string_view name);

}  // namespace millrace::decode
