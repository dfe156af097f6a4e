#include "decode/draft_length.h"
#include "decode/rejection_sampling.h"

namespace millrace::decode::verification {

VerificationRule google() {
  return {.name = "google",
          .summary = "Google's (arXiv:2211.17192): the rule of `rejection`, and the length that its theorem 3.8 has",
          .same_tokens = false,
          .next = accept_or_resample,
          .draft_length = best_draft_length};
}

}  // namespace millrace::decode::verification
