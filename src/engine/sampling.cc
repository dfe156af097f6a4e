// From rows of logits to tokens of answers, and to their text.

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/engine.h"

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
void Engine::fork_answers(ActiveSequence& first, std::span<const float> logits, std::vector<Output>& outputs) {
  if (first.choice != 0 || first.output_tokens() > 0) return;
  InFlight& flight = requests_.at(first.request);
  if (flight.n == 1) return;
  publish(first, true);
  for (int choice = 1; choice < flight.n; ++choice) {
    decode::SamplingParams sampling = first.sampling;
    sampling.seed += static_cast<std::uint64_t>(choice);
    auto made = make_running(first.request, choice, sampling, first.pipeline.grammar());
    ActiveSequence& other = *made;
    other.copy_request(first);
    other.pipeline.observe(other.tokens);
    flight.answers[static_cast<std::size_t>(choice)] = std::move(made);
    ++flight.live;
    scheduler_.add(other, view());
    sample(other, logits, outputs);
  }
}

// The token after the sequence's last one, and as long as the draft tokens are accepted, those after them: each is
// sampled from the logits that follow on what was sampled before, as if it were the only one of its step. Where a
// branch is right and the drafts are not, the sequence goes on with its pages.
void Engine::sample_row(ActiveSequence& running, const TensorView& logits, std::int64_t logit_row, std::int64_t drafted,
                        std::span<BranchRows> branches, std::vector<Output>& outputs) {
  const auto vocabulary = static_cast<std::size_t>(logits.cols());
  const std::span first(logits.row(logit_row), vocabulary);
  if (running.is_beam) {
    score_beam(running, first);
    return;
  }
  fork_answers(running, first, outputs);
  if (!speculation_) {
    sample(running, first, outputs);
    return;
  }
  const bool ahead = drafted > 0 || speculation_->computes();  // pages, of its tokens
  count_drafts(running, drafted, branches.size());
  running.drafts.clear();
  const auto chains = std::exchange(running.branches, {});
  const auto computed_page = static_cast<std::size_t>(running.length() / cache_.block_tokens());  // whole ones until it
  std::size_t branch = kNoBranch;
  for (std::size_t j = 0;; ++j) {
    const std::int64_t row = (branch == kNoBranch ? logit_row : branches[branch].first_logits);
    const std::span logits_of_it(logits.row(row + static_cast<std::int64_t>(j)), vocabulary);
    const bool is_drafted = branch == kNoBranch && static_cast<std::int64_t>(j) < drafted;
    const auto verdict = speculation_->next(running, logits_of_it, j, is_drafted);
    if (!verdict) {
      fail(running, verdict.error(), outputs);
      return;
    }
    if (!take_sampled(running, verdict->token, logits_of_it, outputs)) return;
    if (!verdict->accepted) {
      const std::size_t right =
          right_branch(std::span(chains).first(branches.size()), std::span(running.tokens).last(j + 1), branch);
      if (right == kNoBranch) break;
      if (right != branch) {
        const std::int64_t begin = branches[right].first_logits;
        if (!are_numbers(logits, begin, begin + static_cast<std::int64_t>(j))) break;
        running.blocks.take_rest(computed_page, branches[right].blocks);
      }
      branch = right;
      ++counters_.accepted_branch_tokens;
    }
    ++running.computed;  // its keys and values are in the pages
    ++running.scheduled;
    ++running.stats.accepted_tokens;
    ++counters_.accepted_tokens;
    scheduler_.accepted(running, view());
  }
  running.record.forget();
  if (ahead) running.blocks.truncate(running.computed);
}

// Of a branch, what it does not have in common with the drafts.
void Engine::count_drafts(ActiveSequence& running, std::int64_t drafted, std::size_t branches) {
  if (drafted == 0) return;
  for (std::size_t i = 0; i < branches; ++i) {
    const auto [own, draft] = std::ranges::mismatch(running.branches[i], running.drafts);
    drafted += running.branches[i].end() - own;
  }
  ++counters_.drafts;
  counters_.drafted_tokens += drafted;
  running.stats.drafted_tokens += drafted;
}

// The tokens of the step's rows, on all threads of the executor, where that is worth waking them for: each depends on
// its own row and sequence alone. Grammars are used by one thread, and what speculation makes of a row is a loop of its
// own: such rows are left to sample().
void Engine::sample_side_by_side(const Launched& step, const TensorView& logits) {
  if (speculation_) return;
  std::vector<std::pair<ActiveSequence*, std::int64_t>> rows;  // and the row of logits
  std::int64_t logit_row = 0;
  for (const sched::StepRow& planned : step.plan.rows) {
    auto& running = static_cast<ActiveSequence&>(*planned.sequence);
    running.sampled.reset();
    if (!planned.samples() || !running.draws) continue;
    const std::int64_t row = logit_row;
    logit_row += 1 + planned.drafted();
    if (running.ending != FinishReason::kNone || running.is_beam || running.pipeline.constrained()) continue;
    rows.emplace_back(&running, row);
  }
  if (std::ssize(rows) < 2 || std::ssize(rows) * logits.cols() < config_.side_by_side_logits) return;
  const auto vocabulary = static_cast<std::size_t>(logits.cols());
  executor_->for_each(std::ssize(rows), [&](std::int64_t i) {
    const auto& [running, row] = rows[static_cast<std::size_t>(i)];
    running->sampled = running->pipeline.sample({logits.row(row), vocabulary}, running->length());
  });
}

void Engine::sample(ActiveSequence& running, std::span<const float> logits, std::vector<Output>& outputs) {
  const auto sampled = running.sampled ? *std::exchange(running.sampled, std::nullopt)
                                       : running.pipeline.sample(logits, running.length());
  if (sampled) {
    take_sampled(running, *sampled, logits, outputs);
  } else {
    fail(running, sampled.error(), outputs);
  }
}

// Whether the answer goes on after this token, sampled from those logits.
bool Engine::take_sampled(ActiveSequence& running, std::int32_t token, std::span<const float> logits,
                          std::vector<Output>& outputs) {
  note_token(running);
  RequestStats& stats = running.stats;
  Output output;
  if (running.sampling.logprobs) {
    output.score = scorer_.score(logits, token, *running.sampling.logprobs);
    stats.cumulative_logprob += static_cast<double>(output.score->chosen.logprob);
  }
  if (stats.output_tokens == 0 && running.reading) {
    output.prompt_scores = running.reading->take_scores();
    running.reading.reset();  // what of the prompt is computed once more is not read again
  }
  count_sampled(running);
  ++counters_.output_tokens;
  return take(running, token, std::move(output), outputs);
}

void Engine::count_sampled(ActiveSequence& running) {
  RequestStats& stats = running.stats;
  if (stats.output_tokens == 0) stats.first_token = step_end_;
  if (stats.output_tokens == 0) running.first_token = step_end_;
  stats.last_token = step_end_;
  running.last_token = step_end_;
  ++stats.output_tokens;
}

bool Engine::is_models_end(std::int32_t token, const decode::SamplingParams& sampling) const {
  const auto ends = tokenizer_->end_of_generation();
  return !sampling.ignore_eos && std::ranges::find(ends, token) != ends.end();
}

bool Engine::is_end(std::int32_t token, const decode::SamplingParams& sampling) const {
  return is_models_end(token, sampling) ||
         std::ranges::find(sampling.stop_token_ids, token) != sampling.stop_token_ids.end();
}

// What the answer's n-th token adds to its text, and whether it stops there.
FinishReason Engine::emit(std::int32_t token, std::int64_t n, const decode::SamplingParams& sampling,
                          text::Detokenizer& detokenizer, decode::StopMatcher& stops, Output& output) const {
  output.token = token;
  if (is_end(token, sampling)) {
    if (!is_models_end(token, sampling)) output.stop_reason = token;
    if (sampling.include_stop_str_in_output) output.text = stops.push(detokenizer.push(token), false);
    return FinishReason::kStop;
  }
  output.text = stops.push(detokenizer.push(token), n > sampling.min_tokens);
  if (!stops.stopped()) return FinishReason::kNone;
  output.stop_reason = stops.found();
  return FinishReason::kStop;
}

// What was held back at the end of an answer.
void Engine::emit_rest(text::Detokenizer& detokenizer, decode::StopMatcher& stops, Output& output) {
  if (stops.stopped()) return;
  output.text += stops.push(detokenizer.finish());
  output.text += stops.finish();
}

// The token becomes part of the answer, or ends it: false.
bool Engine::take(ActiveSequence& running, std::int32_t token, Output output, std::vector<Output>& outputs) {
  const decode::SamplingParams& sampling = running.sampling;
  const std::int64_t n = running.stats.output_tokens;
  FinishReason finish = emit(token, n, sampling, running.detokenizer, running.stops, output);
  if (!is_end(token, sampling)) {
    running.tokens.push_back(token);
    running.pipeline.accept(token);
    const bool full = n >= sampling.max_tokens || running.length() >= running.max_total;
    if (finish == FinishReason::kNone && running.pipeline.must_end()) finish = FinishReason::kStop;
    if (finish == FinishReason::kNone && full) finish = FinishReason::kLength;
  }
  if (finish != FinishReason::kNone) {
    end(running, finish, std::move(output), outputs);
    return false;
  }
  if (running.output_tokens() >= running.predicted_output) {
    running.predicted_output = predictor_->predict(running.tenant, running.prompt_tokens, running.output_tokens(),
                                                   running.max_total - running.prompt_tokens, 0);
  }
  output.request = running.request;
  output.choice = running.choice;
  output.stats = running.stats;
  outputs.push_back(std::move(output));
  return true;
}

void Engine::fail(ActiveSequence& running, Error error, std::vector<Output>& outputs) {
  if (error.code == ErrorCode::kInternal) ++counters_.numerical_errors;
  Output output;
  output.error = std::move(error);
  end(running, FinishReason::kError, std::move(output), outputs);
}

// The whole prompt is computed, and nothing else was asked for.
void Engine::finish_reading(ActiveSequence& running, std::vector<Output>& outputs) {
  Output output;
  note_prompt(running);
  running.stats.first_token = running.stats.last_token = step_end_;
  if (running.reading->embeds()) {
    output.embedding = running.reading->take_embedding();
    end(running, FinishReason::kStop, std::move(output), outputs);
  } else {
    output.prompt_scores = running.reading->take_scores();
    end(running, FinishReason::kLength, std::move(output), outputs);
  }
}

}  // namespace millrace::engine
