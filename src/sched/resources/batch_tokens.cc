#include <algorithm>

#include "sched/admission_resource.h"

namespace millrace::sched::resources {
namespace {

// Prompt tokens that one step can compute: of max_batched_tokens, those that decode tokens leave, within the TPOT
// target. A sequence that would get none of them in this step waits for the next.
class BatchTokens final : public AdmissionResource {
 public:
  explicit BatchTokens(const Config& config) : config_(config) {}

  bool begin(const PlanDraft& draft) override {
    const StepWork decodes = draft.decode_work();
    limit_ = config_.max_batched_tokens;
    if (draft.policy.step_order() == StepOrder::kDecodesFirst) limit_ -= decodes.tokens;
    if (config_.tpot_target_ms > 0.0 && decodes.tokens > 0 && limit_ > 0) {
      const std::int64_t in_time = draft.input->view.cost.tokens_within(config_.tpot_target_ms, decodes, 0, limit_);
      limit_ = std::max<std::int64_t>(1, in_time);
    }
    return limit_ > 0;
  }

  bool open_to(const PlanDraft& draft, const Place& place) const override {
    // A dynamic or static batch begins together even if its first step cannot serve all of it.
    return config_.batching != BatchingMode::kContinuous || tokens_ahead(draft, place) < limit_;
  }
  bool fits(const PlanDraft&, const JoiningSequence&) override { return true; }  // as open_to() found

 private:
  // Tokens that the members take before a sequence at `place`.
  static std::int64_t tokens_ahead(const PlanDraft& draft, const Place& place) {
    const bool as_ranked = draft.policy.step_order() == StepOrder::kAsRanked;
    std::int64_t tokens = 0;
    for (const PlanMember& member : draft.members) {
      if (member.takes_part && (as_ranked || !member.decoding) && goes_before(member.place, place))
        tokens += member.chunk;
    }
    return tokens;
  }

  const Config& config_;
  std::int64_t limit_ = 0;
};

}  // namespace

AdmissionResourceKind batch_tokens() {
  return {.name = "batch-tokens", .order = 200, .make = [](const ResourceContext& context) {
            return std::unique_ptr<AdmissionResource>(std::make_unique<BatchTokens>(context.config));
          }};
}

}  // namespace millrace::sched::resources
