#include <iterator>

#include "sched/admission_resource.h"

namespace millrace::sched::resources {
namespace {

// Sequences that run at once: Config::slots().
class SequenceSlots final : public AdmissionResource {
 public:
  explicit SequenceSlots(std::int64_t slots) : slots_(slots) {}

  bool begin(const PlanDraft& draft) override {
    free_ = slots_ - std::ssize(draft.members);
    return can_admit(draft);
  }
  bool open_to(const PlanDraft& draft, const Place&) const override { return can_admit(draft); }
  bool fits(const PlanDraft&, const JoiningSequence&) override { return free_ > 0; }
  void commit(const PlanDraft&, const JoiningSequence&) override { --free_; }
  void release(const PlanDraft&, const PlanMember&) override { ++free_; }
  void restore(const PlanDraft&, const PlanMember&) override { --free_; }
  bool relieved_by(const PlanDraft&, const PlanMember&, const JoiningSequence&) const override { return true; }

 private:
  bool can_admit(const PlanDraft& draft) const { return free_ > 0 || draft.may_preempt(); }

  std::int64_t slots_;
  std::int64_t free_ = 0;
};

}  // namespace

AdmissionResourceKind sequence_slots() {
  return {.name = "sequence-slots", .order = 100, .make = [](const ResourceContext& context) {
            return std::unique_ptr<AdmissionResource>(std::make_unique<SequenceSlots>(context.config.slots()));
          }};
}

}  // namespace millrace::sched::resources
