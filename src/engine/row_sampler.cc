#include "engine/row_sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace millrace::engine {
namespace {

constexpr std::size_t kNoBranch = static_cast<std::size_t>(-1);

// One that begins with what was sampled, `followed` first; kNoBranch where there is none.
std::size_t right_branch(std::span<const std::vector<std::int32_t>> chains, std::span<const std::int32_t> sampled,
                         std::size_t followed) {
  const auto right = [&](const std::vector<std::int32_t>& chain) {
    return chain.size() >= sampled.size() && std::ranges::equal(std::span(chain).first(sampled.size()), sampled);
  };
  if (followed != kNoBranch && right(chains[followed])) return followed;
  const auto found = std::ranges::find_if(chains, right);
  return found == chains.end() ? kNoBranch : static_cast<std::size_t>(found - chains.begin());
}

// Whether the rows [first, last] are numbers. A branch's rows are not sampled from before it is followed, and what they
// wrote into its pages would be kept.
bool are_numbers(const TensorView& logits, std::int64_t first, std::int64_t last) {
  for (std::int64_t row = first; row <= last; ++row) {
    const std::span values(logits.row(row), static_cast<std::size_t>(logits.cols()));
    if (std::ranges::any_of(values, [](float value) { return std::isnan(value); })) return false;
  }
  return true;
}

}  // namespace

// The prompt is computed: the other answers begin with its pages and their own first token.
void RowSampler::fork_answers(ActiveSequence& first, std::span<const float> logits, std::vector<Output>& outputs) {
  if (first.choice != 0 || first.output_tokens() > 0) return;
  RequestState& flight = state_.requests.at(first.request);
  if (flight.request.n == 1) return;
  state_.publish(first, true);
  for (int choice = 1; choice < flight.request.n; ++choice) {
    decode::SamplingParams sampling = first.sampling;
    sampling.seed += static_cast<std::uint64_t>(choice);
    auto made = state_.make_sequence(first.request, choice, sampling, first.pipeline.grammar());
    ActiveSequence& other = *made;
    other.copy_request(first);
    other.pipeline.observe(other.tokens);
    flight.answers[static_cast<std::size_t>(choice)] = std::move(made);
    ++flight.live;
    state_.scheduler.add(other, state_.view());
    sample(other, logits, outputs);
  }
}

void RowSampler::sample_row(ActiveSequence& sequence, const TensorView& logits, std::int64_t logit_row,
                            std::int64_t drafted, std::span<BranchRows> branches, std::vector<Output>& outputs) {
  const std::span first(logits.row(logit_row), static_cast<std::size_t>(logits.cols()));
  if (sequence.is_beam) {
    beams_.score(sequence, first);
    return;
  }
  fork_answers(sequence, first, outputs);
  if (state_.speculation) {
    verify(sequence, logits, logit_row, drafted, branches, outputs);
  } else {
    sample(sequence, first, outputs);
  }
}

// Where a branch is right and the drafts are not, the sequence goes on with its pages.
void RowSampler::verify(ActiveSequence& sequence, const TensorView& logits, std::int64_t logit_row,
                        std::int64_t drafted, std::span<BranchRows> branches, std::vector<Output>& outputs) {
  const auto vocabulary = static_cast<std::size_t>(logits.cols());
  const bool ahead = drafted > 0 || state_.speculation->computes();  // pages, of its tokens
  count_drafts(sequence, drafted, branches.size());
  sequence.drafts.clear();
  const auto chains = std::exchange(sequence.branches, {});
  const auto computed_page = static_cast<std::size_t>(sequence.length() / state_.cache.block_tokens());  // whole before
  std::size_t branch = kNoBranch;
  for (std::size_t j = 0;; ++j) {
    const std::int64_t row = (branch == kNoBranch ? logit_row : branches[branch].first_logits);
    const std::span logits_of_it(logits.row(row + static_cast<std::int64_t>(j)), vocabulary);
    const bool is_drafted = branch == kNoBranch && static_cast<std::int64_t>(j) < drafted;
    const auto verdict = state_.speculation->next(sequence, logits_of_it, j, is_drafted);
    if (!verdict) return endings_.fail(sequence, verdict.error(), outputs);
    if (!take_sampled(sequence, verdict->token, logits_of_it, outputs)) return;
    if (!verdict->accepted) {
      const std::size_t right =
          right_branch(std::span(chains).first(branches.size()), std::span(sequence.tokens).last(j + 1), branch);
      if (right == kNoBranch) break;
      if (right != branch) {
        const std::int64_t begin = branches[right].first_logits;
        if (!are_numbers(logits, begin, begin + static_cast<std::int64_t>(j))) break;
        sequence.blocks.take_rest(computed_page, branches[right].blocks);
      }
      branch = right;
      ++state_.counters.accepted_branch_tokens;
    }
    accept_draft(sequence);
  }
  sequence.record.forget();
  if (ahead) sequence.blocks.truncate(sequence.computed);
}

// Of a branch, what it does not have in common with the drafts.
void RowSampler::count_drafts(ActiveSequence& sequence, std::int64_t drafted, std::size_t branches) {
  if (drafted == 0) return;
  for (std::size_t i = 0; i < branches; ++i) {
    const auto [own, draft] = std::ranges::mismatch(sequence.branches[i], sequence.drafts);
    drafted += sequence.branches[i].end() - own;
  }
  ++state_.counters.drafts;
  state_.counters.drafted_tokens += drafted;
  sequence.stats.drafted_tokens += drafted;
}

// Its keys and values are in the pages.
void RowSampler::accept_draft(ActiveSequence& sequence) {
  ++sequence.computed;
  ++sequence.scheduled;
  ++sequence.stats.accepted_tokens;
  ++state_.counters.accepted_tokens;
  state_.scheduler.accepted(sequence, state_.view());
}

void RowSampler::sample_side_by_side(const LaunchedStep& step, const TensorView& logits) {
  if (state_.speculation) return;
  std::vector<std::pair<ActiveSequence*, std::int64_t>> rows;  // and the row of logits
  std::int64_t logit_row = 0;
  for (const sched::StepRow& planned : step.plan.rows) {
    auto& sequence = static_cast<ActiveSequence&>(*planned.sequence);
    sequence.sampled.reset();
    if (!planned.samples() || !sequence.draws || planned.feeds) continue;
    const std::int64_t row = logit_row;
    logit_row += 1 + planned.drafted();
    if (sequence.ending != FinishReason::kNone || sequence.is_beam || sequence.pipeline.constrained()) continue;
    rows.emplace_back(&sequence, row);
  }
  if (std::ssize(rows) < 2 || std::ssize(rows) * logits.cols() < state_.config.side_by_side_logits) return;
  const auto vocabulary = static_cast<std::size_t>(logits.cols());
  state_.executor->for_each(std::ssize(rows), [&](std::int64_t i) {
    const auto& [sequence, row] = rows[static_cast<std::size_t>(i)];
    sequence->sampled = sequence->pipeline.sample({logits.row(row), vocabulary}, sequence->length());
  });
}

void RowSampler::sample(ActiveSequence& sequence, std::span<const float> logits, std::vector<Output>& outputs) {
  const auto sampled = sequence.sampled ? *std::exchange(sequence.sampled, std::nullopt)
                                        : sequence.pipeline.sample(logits, sequence.length());
  if (sampled) {
    take_sampled(sequence, *sampled, logits, outputs);
  } else {
    endings_.fail(sequence, sampled.error(), outputs);
  }
}

// Whether the answer goes on after this token, sampled from those logits.
bool RowSampler::take_sampled(ActiveSequence& sequence, std::int32_t token, std::span<const float> logits,
                              std::vector<Output>& outputs) {
  reporter_.note_token(sequence);
  RequestStats& stats = sequence.stats;
  Output output;
  if (sequence.sampling.logprobs) {
    output.score = scorer_.score(logits, token, *sequence.sampling.logprobs);
    stats.cumulative_logprob += static_cast<double>(output.score->chosen.logprob);
  }
  if (stats.output_tokens == 0 && sequence.reading) {
    output.prompt_scores = sequence.reading->take_scores();
    sequence.reading.reset();  // what of the prompt is computed once more is not read again
  }
  sequence.count_token(state_.step_end);
  ++state_.counters.output_tokens;
  return take(sequence, token, std::move(output), outputs);
}

// The token becomes part of the answer, or ends it: false.
bool RowSampler::take(ActiveSequence& sequence, std::int32_t token, Output output, std::vector<Output>& outputs) {
  const decode::SamplingParams& sampling = sequence.sampling;
  const std::int64_t n = sequence.stats.output_tokens;
  FinishReason finish = writer_.write(token, n, sampling, sequence.detokenizer, sequence.stops, output);
  if (!writer_.is_end(token, sampling)) {
    sequence.tokens.push_back(token);
    sequence.pipeline.accept(token);
    const bool full = n >= sampling.max_tokens || sequence.length() >= sequence.max_total;
    if (finish == FinishReason::kNone && sequence.pipeline.must_end()) finish = FinishReason::kStop;
    if (finish == FinishReason::kNone && full) finish = FinishReason::kLength;
  }
  if (finish != FinishReason::kNone) {
    endings_.end(sequence, finish, std::move(output), outputs);
    return false;
  }
  if (sequence.output_tokens() >= sequence.predicted_output) {
    sequence.predicted_output =
        state_.predictor->predict(sequence.tenant, sequence.prompt_tokens, sequence.output_tokens(),
                                  sequence.max_total - sequence.prompt_tokens, 0);
  }
  output.request = sequence.request;
  output.choice = sequence.choice;
  output.stats = sequence.stats;
  outputs.push_back(std::move(output));
  return true;
}

void RowSampler::take_fed(ActiveSequence& sequence, std::optional<std::int32_t> token, std::vector<Output>& outputs) {
  if (token) {
    take_sampled(sequence, *token, {}, outputs);
  } else {
    endings_.fail(sequence, decode::broken_logits(sequence.length()), outputs);
  }
}

void RowSampler::finish_reading(ActiveSequence& sequence, std::vector<Output>& outputs) {
  Output output;
  reporter_.note_prompt(sequence);
  sequence.stats.first_token = sequence.stats.last_token = state_.step_end;
  if (sequence.reading->embeds()) {
    output.embedding = sequence.reading->take_embedding();
    endings_.end(sequence, FinishReason::kStop, std::move(output), outputs);
  } else {
    output.prompt_scores = sequence.reading->take_scores();
    endings_.end(sequence, FinishReason::kLength, std::move(output), outputs);
  }
}

}  // namespace millrace::engine
