#include "engine/batch_builder.h"

#include <utility>

#include "engine/active_sequence.h"

namespace millrace::engine {
namespace {

std::vector<BranchRows> make_branches(sched::StepPlan& plan, kv::PagedCache& cache) {
  std::vector<BranchRows> branches;
  for (sched::StepRow& row : plan.rows) {
    const sched::Sequence& s = *row.sequence;
    const std::int64_t last = s.length() - 1;
    if (row.first != last || row.drafted() < std::ssize(s.drafts)) row.branches = 0;
    for (std::size_t i = 0; i < row.branches; ++i) {
      BranchRows branch{.blocks = cache.make_table()};
      branch.blocks.share(s.blocks.blocks().first(s.blocks.pages_for(last)));
      if (cache.reserve(branch.blocks, last, s.length() + std::ssize(s.branches[i]))) {
        branches.push_back(std::move(branch));
      } else {
        row.branches = i;
      }
    }
  }
  return branches;
}

void add_row(const sched::StepRow& row, LaunchedStep& step, StepInput& input) {
  const auto& sequence = static_cast<const ActiveSequence&>(*row.sequence);
  const auto first_row = static_cast<std::int64_t>(input.tokens.size());
  input.sequences.push_back({.first_row = first_row,
                             .n_rows = row.n_tokens,
                             .first_position = sequence.scheduled,
                             .pages = sequence.blocks.blocks()});
  const std::int64_t drafted = row.drafted();
  const auto begin = sequence.tokens.begin() + sequence.scheduled;
  input.tokens.insert(input.tokens.end(), begin, begin + (row.n_tokens - drafted));
  input.tokens.insert(input.tokens.end(), sequence.drafts.begin(), sequence.drafts.begin() + drafted);
  if (row.samples() && sequence.draws) {
    for (std::int64_t behind = drafted; behind >= 0; --behind) {
      input.logit_rows.push_back(static_cast<std::int64_t>(input.tokens.size()) - 1 - behind);
    }
  }
  if (sequence.reading && row.first < sequence.prompt_tokens) {
    if (!step.prompt_rows) step.prompt_rows = std::make_unique<PromptRows>();
    step.prompt_rows->add(*sequence.reading, row, first_row, input);
  }
}

// The last token again, and the branch's, each with its logits.
void add_branches(LaunchedStep& step, StepInput& input) {
  std::size_t next = 0;
  for (const sched::StepRow& row : step.plan.rows) {
    const sched::Sequence& sequence = *row.sequence;
    for (std::size_t i = 0; i < row.branches; ++i) {
      BranchRows& branch = step.branches[next++];
      const auto first = static_cast<std::int64_t>(input.tokens.size());
      branch.first_logits = static_cast<std::int64_t>(input.logit_rows.size());
      input.tokens.push_back(sequence.tokens.back());
      input.tokens.insert(input.tokens.end(), sequence.branches[i].begin(), sequence.branches[i].end());
      const std::int64_t n = static_cast<std::int64_t>(input.tokens.size()) - first;
      for (std::int64_t j = 0; j < n; ++j) input.logit_rows.push_back(first + j);
      input.sequences.push_back(
          {.first_row = first, .n_rows = n, .first_position = sequence.length() - 1, .pages = branch.blocks.blocks()});
    }
  }
}

}  // namespace

LaunchedStep build_batch(sched::StepPlan plan, kv::PagedCache& cache, StepInput& input) {
  LaunchedStep step;
  step.branches = make_branches(plan, cache);
  step.work = sched::work_of(plan);
  for (const sched::StepRow& row : plan.rows) add_row(row, step, input);
  step.work.samples += static_cast<std::int64_t>(input.scored_rows.size());
  step.plan = std::move(plan);
  add_branches(step, input);
  return step;
}

}  // namespace millrace::engine
