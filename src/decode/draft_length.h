#pragma once

namespace millrace::decode {

// arXiv:2211.17192, section 3: what speculation is expected to bring where each drafted token is accepted with
// probability `acceptance`, [0, 1], independently.

// Tokens of one step of the target that verifies `length` >= 0 drafted ones, its own included (equation 1).
double expected_tokens(double acceptance, int length);

// The length in [0, most] with the most tokens for their time, the shortest among equals, if drafting one costs
// `cost_ratio` >= 0 of a step of the target (theorem 3.8). 0 where speculation does not pay.
int best_draft_length(double acceptance, double cost_ratio, int most);

}  // namespace millrace::decode
