#include "decode/candidates.h"

namespace millrace::decode {

// CTRL (arXiv:1909.05858), as Hugging Face applies it: positive logits of seen tokens divided, negative ones
// multiplied.
void apply_repetition_penalty(double penalty, const std::vector<bool>& seen, Candidates& candidates) {
  if (penalty == 1.0) return;
  const auto factor = static_cast<float>(penalty);
  for (Candidate& c : candidates) {
    if (seen[static_cast<std::size_t>(c.token)]) c.logit = c.logit > 0.0f ? c.logit / factor : c.logit * factor;
  }
}

}  // namespace millrace::decode
