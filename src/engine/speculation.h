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
  std::int64_t tokens = 16;  // limit of draft tokens of a sequence in a step, [1, draft::kMaxTokens]
  bool adaptive = true;      // fewer draft tokens where that is faster; false: as many as the drafter has
  // How draft tokens are verified. Null: "coupled", the only rule that gives the tokens of decoding without drafts.
  // With the other rules tokens have the same distribution, but depend on the drafts.
  const decode::VerificationRule* rule = nullptr;
  // Where a grammar allows one continuation alone, that is the draft, and the drafter does not run.
  bool jump_forward = true;
  // Limit of branches of a sequence's draft tree, the main one included, [1, draft::kMaxBranches]. Rules other than
  // "coupled" use one.
  int max_branches = 1;
};

// Drafts the next tokens of sequences that decode, so that a step can look at several of each at once
// (arXiv:2211.17192, arXiv:2302.01318). The number of draft tokens is chosen for each step by their acceptance, of this
// answer and of all answers, and by their measured cost. Draft tokens that a step leaves out are still compared with
// the sampled tokens, which keeps the measured acceptance current at no cost. Draft tokens that do not fit an answer's
// grammar are dropped. A drafter may propose a tree: the main branch is the draft, and the other branches leave it at
// some token. Engine thread only.
class Speculation {
 public:
  // Uses the executor's drafter; without one, only grammars give drafts. The executor must outlive this object.
  Speculation(Executor& executor, const SpeculationConfig& config);

  // Limit of draft tokens for the sequence in the next step.
  std::int64_t most(const ActiveSequence& running) const noexcept;
  // Whether drafting writes keys and values, from the last token's position on. Pages for most() tokens must be
  // reserved then.
  bool computes() const noexcept { return drafter_ != nullptr && drafter_->computes(); }
  // Sets drafts and branches of the `decoding` sequences. `work` is what the step computes without drafts. A drafting
  // model runs here, between the executor's steps. If it runs out of memory, nothing is drafted.
  void draft(std::span<ActiveSequence* const> decoding, const sched::StepWork& work, const sched::StepCost& cost,
             Env& env);
  // Verifies: the sequence's next token, the `index`-th of this step, from its row of logits [V]. `drafted`: all drafts
  // before it were accepted, and the step computed a draft token for this place. Errors of LogitsPipeline::sample().
  Result<decode::Verdict> next(ActiveSequence& running, std::span<const float> logits, std::size_t index, bool drafted);
  // Tells the drafter that the answer has ended: some learn from it, and all drop what they keep of its sequence.
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
  bool failed_ = false;                                                 // the drafter's last run failed
  draft::ProbeAllowance allowance_;
  std::vector<ActiveSequence*> asked_, forced_;
  std::vector<draft::Task> tasks_;          // of those
  std::vector<std::vector<double>> rates_;  // by sequence, of its draft's tokens
  std::vector<sched::DraftOffer> offers_;
  std::vector<std::vector<double>> branch_rates_;  // of all their branches, one after the other
  std::vector<sched::BranchOffer> branch_offers_;
};

}  // namespace millrace::engine
