#include "decode/rejection_sampling.h"

namespace millrace::decode::verification {

VerificationRule rejection() {
  return {.name = "rejection",
          .summary = "accept with probability min(1, p / q), else sample from max(p - q, 0) (arXiv:2302.01318)",
          .same_tokens = false,
          .next = accept_or_resample,
          .draft_length = nullptr};
}

}  // namespace millrace::decode::verification
