#include "decode/verification.h"

namespace millrace::decode::verification {
namespace {

// The sample that the target would make anyway decides.
Result<Verdict> next(LogitsPipeline& target, std::span<const float> logits, std::int64_t position,
                     const std::optional<DraftedToken>& drafted) {
  const auto token = target.sample(logits, position);
  if (!token) return token.error();
  return Verdict{*token, drafted && drafted->token == *token};
}

}  // namespace

// Drafters that sample by the same noise agree with the target more often than independent samples would: Gumbel-max
// couples the two (arXiv:2408.07978).
VerificationRule coupled() {
  return {
      .name = "coupled",
      .summary =
          "accept a draft token if the target model samples the same one; output is the same as without speculation",
      .same_tokens = true,
      .next = next,
      .draft_length = nullptr};
}

}  // namespace millrace::decode::verification
