#include "decode/rejection_sampling.h"

namespace millrace::decode::verification {

VerificationRule rejection() {
  return {.name = "rejection",
          .summary = "DeepMind's (arXiv:2302.01318): taken with min(1, p / q), else drawn from max(p - q, 0)",
          .same_tokens = false,
          .next = accept_or_resample,
          .draft_length = nullptr};
}

}  // namespace millrace::decode::verification
