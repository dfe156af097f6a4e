#include "decode/candidates.h"

namespace millrace::decode {

// OpenAI's presence and frequency penalties: of the answer's tokens alone, not the prompt's.
void apply_answer_penalties(double presence, double frequency, const TokenCounts& counts, Candidates& candidates) {
  if (presence == 0.0 && frequency == 0.0) return;
  for (const auto& [token, count] : counts) {
    if (Candidate* c = find_candidate(candidates, token)) {
      c->logit -= static_cast<float>(frequency * static_cast<double>(count) + presence);
    }
  }
}

}  // namespace millrace::decode
