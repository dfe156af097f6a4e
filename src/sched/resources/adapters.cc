#include "sched/admission_resource.h"

namespace millrace::sched::resources {
namespace {

// Adapters in memory. A sequence keeps its own from its admission to its end, so preempting one frees none. Who gets
// them next is settled before the step is planned (engine/adapter_seats.h).
class Adapters final : public AdmissionResource {
 public:
  bool awaited(const Sequence& sequence) const override { return sequence.adapters_missing; }
  bool begin(const PlanDraft&) override { return true; }
  bool fits(const PlanDraft&, const JoiningSequence& joining) override {
    return !joining.member.place.sequence->adapters_missing;
  }
};

}  // namespace

AdmissionResourceKind adapters() {
  return {.name = "adapters", .order = 50, .make = [](const ResourceContext&) {
            return std::unique_ptr<AdmissionResource>(std::make_unique<Adapters>());
          }};
}

}  // namespace millrace::sched::resources
