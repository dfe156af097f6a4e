#include "engine/batch_builder.h"

#include <utility>

#include "engine/active_sequence.h"

namespace millrace::engine {
namespace {

// None of a sequence whose tokens before the last one are in flight: the page to be copied is not written yet.
std::vector<BranchRows> make_branches(sched::StepPlan& plan, kv::PagedCache& cache) {
  std::vector<BranchRows> branches;
  for (sched::StepRow& row : plan.rows) {
    const sched::Sequence& s = *row.sequence;
    const std::int64_t last = s.length() - 1;
    if (row.first != last || s.in_flight > 0 || row.drafted() < std::ssize(s.drafts)) row.branches = 0;
    for (std::size_t i = 0; i < row.branches; ++i) {
      BranchRows branch{.blocks = cache.make_table()};
      branch.blocks.share(s.blocks.blocks().first(s.blocks.pages_for(last)), s.blocks.behind());
      if (cache.reserve(branch.blocks, last, s.length() + std::ssize(s.branches[i]))) {
        branches.push_back(std::move(branch));
      } else {
        row.branches = i;
      }
    }
  }
  return branches;
}

// The row's tokens that are known, and drafts; or the one that an earlier launch samples.
void add_tokens(const sched::StepRow& row, std::uint64_t launch, StepInput& input) {
  const auto& sequence = static_cast<const ActiveSequence&>(*row.sequence);
  if (row.first >= sequence.length()) {
    input.fed_rows.push_back({.row = std::ssize(input.tokens),
                              .steps_back = static_cast<std::int32_t>(launch - sequence.last_unseen.launch),
                              .sampled = sequence.last_unseen.sampled});
    input.tokens.push_back(0);
    return;
  }
  const std::int64_t drafted = row.drafted();
  const auto begin = sequence.tokens.begin() + row.first;
  input.tokens.insert(input.tokens.end(), begin, begin + (row.n_tokens - drafted));
  input.tokens.insert(input.tokens.end(), sequence.drafts.begin(), sequence.drafts.begin() + drafted);
}

void add_row(const sched::StepRow& row, std::uint64_t launch, LaunchedStep& step, StepInput& input) {
  auto& sequence = static_cast<ActiveSequence&>(*row.sequence);
  const auto first_row = static_cast<std::int64_t>(input.tokens.size());
  input.sequences.push_back({.first_row = first_row,
                             .n_rows = row.n_tokens,
                             .first_position = sequence.scheduled,
                             .rope_length = sequence.scope.rope_length,
                             .pages = sequence.blocks.blocks(),
                             .window_pages = sequence.blocks.window_blocks(),
                             .adapters = sequence.adapters});
  add_tokens(row, launch, input);
  if (row.samples() && row.feeds) {
    sequence.last_unseen = {.launch = launch, .sampled = static_cast<std::int32_t>(input.sampled_rows.size())};
    input.sampled_rows.push_back({.row = std::ssize(input.tokens) - 1,
                                  .position = row.first + row.n_tokens,
                                  .sampling = *sequence.row_sampling});
  } else if (row.samples() && sequence.draws) {
    for (std::int64_t behind = row.drafted(); behind >= 0; --behind) {
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
      input.sequences.push_back({.first_row = first,
                                 .n_rows = n,
                                 .first_position = sequence.length() - 1,
                                 .rope_length = sequence.scope.rope_length,
                                 .pages = branch.blocks.blocks(),
                                 .window_pages = branch.blocks.window_blocks(),
                                 .adapters = static_cast<const ActiveSequence&>(sequence).adapters});
    }
  }
}

}  // namespace

LaunchedStep build_batch(sched::StepPlan plan, std::uint64_t launch, kv::PagedCache& cache, StepInput& input) {
  LaunchedStep step;
  step.branches = make_branches(plan, cache);
  step.work = sched::work_of(plan);
  for (const sched::StepRow& row : plan.rows) add_row(row, launch, step, input);
  step.work.samples += static_cast<std::int64_t>(input.scored_rows.size());
  step.plan = std::move(plan);
  add_branches(step, input);
  return step;
}

}  // namespace millrace::engine
