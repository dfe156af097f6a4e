#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "decode/logits_pipeline.h"

namespace millrace::decode {

// What a drafter proposes for a position.
struct DraftedToken {
  std::int32_t token = 0;
  // What it was sampled from: ascending by token, probabilities > 0 that sum to 1, not sampled by the noise of
  // Purpose::kAccept or kResidual. Empty: the drafter had no other in mind.
  std::span<const TokenProbability> distribution;
};

struct Verdict {
  std::int32_t token = 0;  // of the answer at this position, whatever was drafted
  bool accepted = false;   // it is the drafted one: what was drafted for the next position may be looked at
};

// How drafted tokens become tokens of the answer, a file in verification/. Whatever is drafted, the token at a position
// is distributed exactly as target.sample() would sample it, given those before. A function of the row, the position,
// what is drafted for it, and the seed; the caller lets the target accept() the token before the next position. Errors
// are those of sample().
struct VerificationRule {
  std::string_view name;
  std::string_view summary;
  bool same_tokens;  // token for token those without speculation, not in distribution alone
  Result<Verdict> (*next)(LogitsPipeline& target, std::span<const float> logits, std::int64_t position,
                          const std::optional<DraftedToken>& drafted);
  // How many tokens to draft, [0, most], given how likely one is accepted, [0, 1], and what drafting one costs of a
  // step of the target. Null: the caller's business.
  int (*draft_length)(double acceptance, double cost_ratio, int most);
};
std::span<const VerificationRule> all_verification_rules();  // generated from the files
const VerificationRule* find_verification_rule(std::string_view name);

}  // namespace millrace::decode
