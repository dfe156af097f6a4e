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

// How an engine speculates.
struct SpeculationConfig {
  std::int64_t tokens = 16;  // limit of draft tokens of a sequence in a step, [1, draft::kMaxTokens]
  bool adaptive = true;      // verify fewer, or none, if that is expected to be faster; false: verify all
  // The verification rule; null: "coupled". Only "coupled" gives the same tokens as without speculation. Other rules
  // give tokens of the same distribution, which depend on the drafts.
  const decode::VerificationRule* rule = nullptr;
  // If a grammar allows only one continuation, it is the draft, and the drafter is not asked.
  bool jump_forward = true;
  // Limit of branches of a draft tree, the main one included, [1, draft::kMaxBranches]. Only "coupled" uses more
  // than 1.
  int max_branches = 1;
};

// Speculative decoding (arXiv:2211.17192, arXiv:2302.01318): drafts the next tokens of sequences that decode, so that a
// step can verify several of each. For each step it chooses how many to verify, from measured costs and from the rates
// at which draft tokens of this answer and of all answers were accepted. Draft tokens that are not verified are still
// compared with sampled tokens, which keeps the rates up to date. Draft tokens that do not fit an answer's grammar are
// dropped. A drafter may propose a draft tree: a main branch, which is the draft, and further branches that leave it
// (arXiv:2305.09781). Engine thread only.
class Speculation {
 public:
  // Uses the executor's drafter; without one only tokens that grammars force are drafted. The executor must outlive it.
  Speculation(Executor& executor, const SpeculationConfig& config);

  // Limit of draft tokens of the answer in the next step.
  std::int64_t most(const ActiveSequence& running) const noexcept;
  // Whether drafting writes keys and values to the sequence's pages, from the position of its last token on. Pages for
  // most() further tokens must then be reserved before draft().
  bool computes() const noexcept { return drafter_ != nullptr && drafter_->computes(); }
  // Sets drafts and branches of the sequences in `decoding`. `work` is the work of the step without drafts. A drafting
  // model computes between steps of the executor, on this thread. If its memory is short, nothing is drafted.
  void draft(std::span<ActiveSequence* const> decoding, const sched::StepWork& work, const sched::StepCost& cost,
             Env& env);
  // Decides the next token of a sequence from its row of logits [V]; it is token `index` of this step, from 0.
  // `drafted`: all earlier draft tokens of the step were accepted, and one was computed for this position. Errors are
  // those of LogitsPipeline::sample().
  Result<decode::Verdict> next(ActiveSequence& running, std::span<const float> logits, std::size_t index, bool drafted);
  void ended(const ActiveSequence& running);  // the answer has ended: tells the drafter

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
  double round_ms_ = 0.0;                                               // measured time of drafting one token
  bool failed_ = false;                                                 // the drafter failed at the last call
  draft::ProbeAllowance allowance_;
  std::vector<ActiveSequence*> asked_, forced_;
  std::vector<draft::Task> tasks_;          // of asked_
  std::vector<std::vector<double>> rates_;  // by sequence, rates of acceptance of its draft tokens
  std::vector<sched::DraftOffer> offers_;
  std::vector<std::vector<double>> branch_rates_;  // the same of all branches
  std::vector<sched::BranchOffer> branch_offers_;
};

}  // namespace millrace::engine
