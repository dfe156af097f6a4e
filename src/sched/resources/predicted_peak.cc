#include <algorithm>
#include <iterator>

#include "sched/admission.h"
#include "sched/admission_resource.h"

namespace millrace::sched::resources {
namespace {

// Pages of the KV cache later: the predicted peak of all sequences together is at most what the pool holds. Pages that
// a sequence found published count in no sequence's demand and are not part of what the peak may reach, so each counts
// once. A sequence alone is not held to the peak. The estimate is made when it is first asked for in a step, and again
// after a preemption: O(n log n) in the members; each question is O(n).
class PredictedPeak final : public AdmissionResource {
 public:
  explicit PredictedPeak(const kv::PagedCache& cache) : cache_(cache) {}

  bool begin(const PlanDraft&) override {
    estimated_ = false;
    return true;
  }
  bool fits(const PlanDraft& draft, const JoiningSequence& joining) override {
    if (draft.nobody_runs()) return true;
    if (!estimated_) build_estimate(draft);
    return estimate_.peak_with(demand_of(draft, joining)) <=
           (capacity_pages_ + pages_brought(joining)) * cache_.block_tokens();
  }
  void commit(const PlanDraft& draft, const JoiningSequence& joining) override {
    if (!estimated_) return;
    estimate_.add(demand_of(draft, joining));
    capacity_pages_ += pages_brought(joining);
  }
  void release(const PlanDraft&, const PlanMember&) override { estimated_ = false; }
  void restore(const PlanDraft&, const PlanMember&) override { estimated_ = false; }
  bool relieved_by(const PlanDraft& draft, const PlanMember& member, const JoiningSequence&) const override {
    const Sequence& sequence = *member.place.sequence;  // which may have lost its pages, and will need them again
    return draft.gain(member).pages > 0 || draft.pages_of(sequence.length()) > blocks_of(sequence);
  }

 private:
  static std::int64_t blocks_of(const Sequence& sequence) {
    return static_cast<std::int64_t>(sequence.blocks.blocks().size());
  }
  // Pages by which the sequence raises what the peak may reach: leased ones, less published ones it takes from idle.
  static std::int64_t pages_brought(const JoiningSequence& joining) {
    return blocks_of(*joining.member.place.sequence) - joining.match.idle;
  }
  static PeakDemand demand_of(const PlanDraft& draft, const JoiningSequence& joining) {
    return demand_of(draft, *joining.member.place.sequence, std::ssize(joining.match.pages));
  }
  static PeakDemand demand_of(const PlanDraft& draft, const Sequence& sequence, std::int64_t attached_pages) {
    const std::int64_t block_tokens = draft.cache.block_tokens();
    const std::int64_t pages = std::max(draft.pages_of(sequence.length()), blocks_of(sequence));
    const std::int64_t left = std::max<std::int64_t>(1, sequence.predicted_output - sequence.output_tokens());
    const std::int64_t expected = std::clamp<std::int64_t>(sequence.max_total - sequence.length(), 0, left);
    const std::int64_t in_last_page = pages * block_tokens - sequence.length();
    return {.held = std::max<std::int64_t>(0, pages - attached_pages) * block_tokens,
            .remaining = std::max<std::int64_t>(0, expected - in_last_page)};
  }

  void build_estimate(const PlanDraft& draft) {
    demands_.clear();
    capacity_pages_ = draft.pages.available.pages;
    for (const PlanMember& member : draft.members) {
      if (!member.stays) continue;
      const Sequence& sequence = *member.place.sequence;
      std::int64_t attached = sequence.attached_pages;
      if (sequence.state == SequenceState::kWaiting) {  // admitted in this step
        const auto admission = std::ranges::find(draft.plan->admitted, &sequence, &Admission::sequence);
        attached = std::ssize(admission->match.pages);
        capacity_pages_ += blocks_of(sequence) - admission->match.idle;
      } else {
        capacity_pages_ += blocks_of(sequence) - attached;
      }
      demands_.push_back(demand_of(draft, sequence, attached));
    }
    estimate_.assign(demands_);
    estimated_ = true;
  }

  const kv::PagedCache& cache_;
  PeakEstimate estimate_;
  std::vector<PeakDemand> demands_;
  std::int64_t capacity_pages_ = 0;  // what the peak may reach
  bool estimated_ = false;
};

}  // namespace

AdmissionResourceKind predicted_peak() {
  return {.name = "predicted-peak", .order = 400, .make = [](const ResourceContext& context) {
            return std::unique_ptr<AdmissionResource>(std::make_unique<PredictedPeak>(context.cache));
          }};
}

}  // namespace millrace::sched::resources
