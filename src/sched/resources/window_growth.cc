#include <algorithm>

#include "sched/admission_resource.h"

namespace millrace::sched::resources {
namespace {

// Window pages of the KV cache later, where layers have a window: what all sequences together will take besides what
// they hold, until the window of each is full or its answer is as long as predicted, is available. A sequence alone is
// not held to it. O(members) when it is first asked for in a step and after a preemption, else O(1).
class WindowGrowth final : public AdmissionResource {
 public:
  explicit WindowGrowth(const kv::PagedCache& cache) : cache_(cache) {}

  bool begin(const PlanDraft&) override {
    counted_ = false;
    return true;
  }
  bool fits(const PlanDraft& draft, const JoiningSequence& joining) override {
    if (cache_.window() == nullptr || draft.nobody_runs()) return true;
    if (!counted_) count(draft);
    return growth_ + growth_of(draft, joining) <= draft.pages.available.window;
  }
  void commit(const PlanDraft& draft, const JoiningSequence& joining) override {
    if (counted_) growth_ += growth_of(draft, joining);
  }
  void release(const PlanDraft&, const PlanMember&) override { counted_ = false; }
  void restore(const PlanDraft&, const PlanMember&) override { counted_ = false; }
  bool relieved_by(const PlanDraft& draft, const PlanMember& member, const JoiningSequence&) const override {
    return draft.gain(member).window > 0 || growth_of(draft, *member.place.sequence) > 0;
  }

 private:
  // What the sequence will hold when it is longest, if it has `start` tokens now.
  std::int64_t peak_of(const PlanDraft& draft, const Sequence& sequence) const {
    const std::int64_t left = std::max<std::int64_t>(1, sequence.predicted_output - sequence.output_tokens());
    const std::int64_t longest = std::min(sequence.length() + left, std::max(sequence.max_total, sequence.length()));
    return std::min<std::int64_t>(draft.pages_of(longest), cache_.window()->span());
  }
  std::int64_t growth_of(const PlanDraft& draft, const Sequence& sequence) const {
    const auto held = static_cast<std::int64_t>(sequence.blocks.blocks().size() - sequence.blocks.behind());
    return std::max<std::int64_t>(0, peak_of(draft, sequence) - held);
  }
  std::int64_t growth_of(const PlanDraft& draft, const JoiningSequence& joining) const {
    const Sequence& sequence = *joining.member.place.sequence;
    if (!sequence.blocks.blocks().empty()) return growth_of(draft, sequence);
    const auto taken = static_cast<std::int64_t>(joining.member.first_page.window);
    const std::int64_t shared = std::ssize(joining.match.pages) - joining.match.behind - joining.match.idle_window;
    return std::max(taken, peak_of(draft, sequence) - std::max<std::int64_t>(0, shared));
  }
  void count(const PlanDraft& draft) {
    growth_ = 0;
    for (const PlanMember& member : draft.members) {
      if (!member.stays) continue;
      const Sequence& sequence = *member.place.sequence;
      const bool running = sequence.state == SequenceState::kRunning;
      growth_ += std::max<std::int64_t>(growth_of(draft, sequence), running ? 0 : member.first_page.window);
    }
    counted_ = true;
  }

  const kv::PagedCache& cache_;
  std::int64_t growth_ = 0;  // of the members, in window pages
  bool counted_ = false;
};

}  // namespace

AdmissionResourceKind window_growth() {
  return {.name = "window-growth", .order = 350, .make = [](const ResourceContext& context) {
            return std::unique_ptr<AdmissionResource>(std::make_unique<WindowGrowth>(context.cache));
          }};
}

}  // namespace millrace::sched::resources
