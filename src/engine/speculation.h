#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "decode/verification.h"
#include "draft/acceptance.h"
#include "draft/drafter.h"
#include "draft/probe_allowance.h"
#include "engine/draft_record.h"
#include "sched/draft_branches.h"
#include "sched/draft_lengths.h"
#include "sched/step_cost.h"

namespace millrace::engine {

class Executor;
struct ActiveSequence;

struct SpeculationConfig {
  std::int64_t tokens = 16;  // drafted for a sequence at most, [1, draft::kMaxTokens]
  bool adaptive = true;      // fewer where that is faster, none in a full batch; else always as many as there are
  // How draft tokens become tokens. Null: "coupled", which alone gives the tokens that there would be without them;
  // with the others they are distributed alike, and depend on what was drafted.
  const decode::VerificationRule* rule = nullptr;
  // Where a grammar leaves no choice, what must come is the draft, and the drafter is not asked.
  bool jump_forward = true;
  // Branches of a sequence's draft tree, the main one included, [1, draft::kMaxBranches]; more than one only by rules
  // that give the same tokens.
  int max_branches = 1;
};

// Drafts the next tokens of sequences that decode, so that a step can look at several of each at once
// (arXiv:2211.17192, arXiv:2302.01318). How many is chosen for each step from how often such draft tokens were
// accepted, of this answer and of all, and from what they cost as measured. Draft tokens not verified are compared with
// what is sampled all the same, so that what is known of them stays true at no cost. Draft tokens that do not fit
// an answer's grammar are dropped. What an answer may go on with is a tree where a drafter knows several branches:
// sequences of tokens from the answer's end on, of which the main one is the draft and the others leave it somewhere.
// The engine's thread.
class Speculation {
 public:
  // With the executor's drafter; where that has none there are the drafts of grammars alone. The executor must outlive
  // it.
  Speculation(Executor& executor, const SpeculationConfig& config);

  // Tokens that may be drafted for it now.
  std::int64_t most(const ActiveSequence& running) const noexcept;
  // Drafting writes keys and values at positions from the last token's on: pages for most() must be there.
  bool computes() const noexcept { return drafter_ != nullptr && drafter_->computes(); }
  // Sets Sequence::drafts and branches of all that may have some. `work` is what the step computes without drafts. A
  // model drafts between the executor's steps; where it has no memory for that, nothing is drafted.
  void draft(std::span<ActiveSequence* const> decoding, const sched::StepWork& work, const sched::StepCost& cost,
             Env& env);
  // The sequence's next token, the `index`-th of this step; `drafted` tells whether the draft was right so far and one
  // of it was computed for this place. Errors as LogitsPipeline::sample.
  Result<decode::Verdict> next(ActiveSequence& running, std::span<const float> logits, std::size_t index, bool drafted);
  void ended(const ActiveSequence& running);

 private:
  bool force(ActiveSequence& running, std::size_t most) const;
  void consult(Env& env);
  void ask_drafter();
  void probe(double step_ms);
  void ask(std::span<ActiveSequence* const> decoding, const sched::StepWork& work, const sched::StepCost& cost);
  void choose(const sched::StepWork& work, const sched::StepCost& cost);
  void choose_branches(sched::StepWork work, const sched::StepCost& cost);
  int further_branches(const ActiveSequence& running) const noexcept;
  double rate(const DraftRecord& record, float confidence) const noexcept;
  double forking_rate(const DraftRecord& record, float confidence) const noexcept;
  void observe(ActiveSequence& running, std::size_t index, std::int32_t token);

  Executor& executor_;
  draft::Drafter* drafter_;  // the executor's; null: none
  SpeculationConfig config_;
  draft::Acceptance acceptance_{512.0}, forking_{512.0}, mean_{512.0};  // over all answers
  double round_ms_ = 0.0;                                               // of a drafting model, for each token
  bool failed_ = false;                                                 // the last time it was asked
  draft::ProbeAllowance allowance_;
  std::vector<ActiveSequence*> asked_, forced_;
  std::vector<draft::Task> tasks_;          // of those
  std::vector<std::vector<double>> rates_;  // by sequence, of its draft's tokens
  std::vector<sched::DraftOffer> offers_;
  std::vector<std::vector<double>> branch_rates_;  // of all their branches, one after the other
  std::vector<sched::BranchOffer> branch_offers_;
};

}  // namespace millrace::engine
