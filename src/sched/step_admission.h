#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sched/admission_resource.h"
#include "sched/plan_draft.h"
#include "sched/waiting_line.h"

namespace millrace::sched {

// Stage 2 of a step: admits waiting sequences in order while they fit every resource. Running sequences are preempted
// for one that does not fit only if their readers are slow, or if the policy preempts. Engine thread only.
class StepAdmission {
 public:
  // One resource of each kind. Config and cache outlive it.
  StepAdmission(const Config& config, const kv::PagedCache& cache, std::span<const AdmissionResourceKind> kinds);

  // The error of the first resource that the sequence could not have even alone.
  std::optional<Error> never_fits(const Sequence& sequence) const;
  // The draft's pages must have been found. Nothing is admitted where they are short.
  void admit(PlanDraft& draft);

 private:
  bool begin(const PlanDraft& draft);
  bool open_to(const PlanDraft& draft, const Place& place) const;
  bool awaited(const Sequence& sequence) const;
  bool may_pass(const PlanDraft& draft, const Sequence& sequence) const;
  // The first resource that the sequence does not fit; null where it fits all.
  const AdmissionResource* lacking(const PlanDraft& draft, const JoiningSequence& joining);
  void admit_anyone(PlanDraft& draft);
  bool try_to_admit(PlanDraft& draft, const Place& place);
  bool make_room(PlanDraft& draft, const JoiningSequence& joining, const AdmissionResource* lacks);
  bool find_victims(PlanDraft& draft, const JoiningSequence& joining, const AdmissionResource* lacks,
                    PlanDraft::Victims allowed);
  void put_back_victims(PlanDraft& draft);

  std::vector<std::unique_ptr<AdmissionResource>> resources_;  // in the order in which they are asked
  WaitingLine line_;
  std::vector<std::size_t> victims_;  // indices of draft members, in the order in which they were taken out
};

}  // namespace millrace::sched
