#include "decode/draft_length.h"
#include "decode/rejection_sampling.h"

namespace millrace::decode::verification {

VerificationRule leviathan() {
  return {.name = "leviathan",
          .summary = "accept as the rule `rejection` does, with the draft length of arXiv:2211.17192, theorem 3.8",
          .same_tokens = false,
          .next = accept_or_resample,
          .draft_length = best_draft_length};
}

}  // namespace millrace::decode::verification
