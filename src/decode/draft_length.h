#pragma once

namespace millrace::decode {

// Expected gain of speculation (arXiv:2211.17192, section 3), where each draft token is accepted with probability
// `acceptance` in [0, 1], independently of the others.

// Expected tokens of a step of the target that verifies `length` >= 0 draft tokens, its own token included (equation
// 1).
double expected_tokens(double acceptance, int length);

// The draft length in [0, most] with the most expected tokens per time, the shortest of equal ones (theorem 3.8).
// Drafting one token takes `cost_ratio` >= 0 of the time of a target's step. 0 where speculation does not pay.
int best_draft_length(double acceptance, double cost_ratio, int most);

}  // namespace millrace::decode
