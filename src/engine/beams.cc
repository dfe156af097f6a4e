// Beam search over sequences that share pages.

#include <algorithm>
#include <iterator>
#include <utility>

#include "decode/token_hash.h"
#include "engine/engine.h"

namespace millrace::engine {
namespace {

// Of the answer so far.
std::uint64_t hash_of(const ActiveSequence& running) {
  std::uint64_t hash = 0;
  for (const std::int32_t token : std::span(running.tokens).subspan(static_cast<std::size_t>(running.prompt_tokens))) {
    hash = decode::hash_with(hash, token);
  }
  return hash;
}

}  // namespace

Result<void> Engine::validate_beams(const Request& request) const {
  constexpr ErrorCode kWrong = ErrorCode::kInvalidArgument;
  const decode::BeamOptions& beams = *request.beams;
  if (auto valid = beams.validate(); !valid) return valid;
  if (request.embed || request.sampling.max_tokens == 0) {
    return make_error(kWrong, "use_beam_search", "use_beam_search needs an answer: max_tokens is 0");
  }
  if (request.session) return make_error(kWrong, "session", "a session goes on with one answer, not with beams");
  if (beams.width < request.n) {
    return make_error(kWrong, "n", "n is {}: a search with {} beams finds no more answers", request.n, beams.width);
  }
  if (beams.width > config_.scheduling.max_sequences) {
    return make_error(kWrong, "num_beams", "num_beams is {}: at most {} sequences run at once", beams.width,
                      config_.scheduling.max_sequences);
  }
  return {};
}

std::unique_ptr<BeamRun> Engine::make_beam_run(const Request& request, const ActiveSequence& first) const {
  decode::BeamOptions options = *request.beams;
  options.end_tokens = request.sampling.stop_token_ids;
  if (!request.sampling.ignore_eos || first.pipeline.grammar()) {  // with a grammar that is over, nothing else is left
    std::ranges::copy(tokenizer_->end_of_generation(), std::back_inserter(options.end_tokens));
  }
  options.max_tokens = first.max_total - first.prompt_tokens;
  return std::make_unique<BeamRun>(options, request.n);
}

// What may follow the beam: kept until its siblings have as much.
void Engine::score_beam(ActiveSequence& beam, std::span<const float> logits) {
  BeamRun& run = *requests_.at(beam.request).beams;
  if (beam.reading) {
    run.prompt_scores = beam.reading->take_scores();
    beam.reading.reset();
  }
  if (beam.pipeline.must_end() && !run.search.options().end_tokens.empty()) {
    beam.beam_row = {{run.search.options().end_tokens.front(), 0.0}};
  } else if (const auto row = beam.pipeline.scores(logits, beam.length(), run.search.row_width()); row) {
    beam.beam_row.assign(row->begin(), row->end());
  } else {
    failed_beams_.emplace_back(beam.request, row.error());
    return;
  }
  beam.blocked = true;
  if (beam.sampling.logprobs) {
    const std::uint64_t hash = hash_of(beam);
    for (const decode::ScoredToken& next : beam.beam_row) {
      if (auto score = scorer_.score(logits, next.token, *beam.sampling.logprobs)) {
        run.scores.emplace(decode::hash_with(hash, next.token), *std::move(score));
      }
    }
  }
  if (scored_beams_.empty() || scored_beams_.back() != beam.request) scored_beams_.push_back(beam.request);
}

// After a step: searches go on whose beams all have their scores.
void Engine::advance_beams(std::vector<Output>& outputs) {
  for (auto& [id, error] : std::exchange(failed_beams_, {})) {
    if (error.code == ErrorCode::kInternal) ++counters_.numerical_errors;
    end_request(id, FinishReason::kError, outputs, &error);
  }
  for (const RequestId id : std::exchange(scored_beams_, {})) {
    const auto it = requests_.find(id);
    if (it == requests_.end()) continue;
    const auto waits = [](const std::unique_ptr<ActiveSequence>& beam) {
      return beam == nullptr || beam->beam_row.empty() || beam->in_flight > 0 || beam->ending != FinishReason::kNone;
    };
    if (std::ranges::none_of(it->second.answers, waits)) advance(id, it->second, outputs);
  }
}

void Engine::advance(RequestId id, InFlight& flight, std::vector<Output>& outputs) {
  BeamRun& run = *flight.beams;
  std::vector<std::unique_ptr<ActiveSequence>> before = std::move(flight.answers);
  std::vector<ActiveSequence*> parents;
  for (const auto& beam : before) parents.push_back(beam.get());
  const bool first = before[0]->output_tokens() == 0;
  std::vector<std::span<const decode::ScoredToken>> rows;
  for (std::size_t i = 0; i < run.search.live().size(); ++i) rows.emplace_back(parents[first ? 0 : i]->beam_row);
  note_token(*parents[0]);
  for (ActiveSequence* beam : parents) count_sampled(*beam);
  run.search.step(rows);
  if (run.search.done()) {
    flight.answers = std::move(before);
    emit_beams(id, flight, outputs);
    return;
  }
  const auto live = run.search.live();
  std::vector<std::unique_ptr<ActiveSequence>> after(live.size());
  for (std::size_t i = 0; i < live.size(); ++i) {  // a parent's first child goes on in its place
    auto& place = before[first ? 0 : static_cast<std::size_t>(live[i].parent)];
    if (place != nullptr) after[i] = std::move(place);
  }
  std::erase(before, nullptr);  // beams without children lease theirs
  std::vector<ActiveSequence*> added;
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (after[i] != nullptr) continue;
    const ActiveSequence& parent = *parents[first ? 0 : static_cast<std::size_t>(live[i].parent)];
    if (before.empty()) {
      after[i] = make_running(id, 0, parent.sampling, std::nullopt);
      after[i]->is_beam = true;
      added.push_back(after[i].get());
    } else {
      after[i] = std::move(before.back());
      before.pop_back();
    }
    fork_beam(*after[i], parent);
  }
  for (const auto& beam : before) {
    if (!beam->descheduled) scheduler_.remove(*beam);
  }
  for (std::size_t i = 0; i < live.size(); ++i) {
    ActiveSequence& beam = *after[i];
    beam.choice = static_cast<int>(i);
    beam.tokens.push_back(live[i].token);
    beam.pipeline.accept(live[i].token);
    beam.beam_row.clear();
    beam.blocked = false;
    if (std::exchange(beam.descheduled, false)) added.push_back(&beam);
  }
  for (ActiveSequence* beam : added) scheduler_.add(*beam, view());
  flight.live = static_cast<int>(after.size());
  flight.answers = std::move(after);
}

// Beams that have their scores make room for siblings that have no place yet: they leave the scheduler with their
// pages.
void Engine::park_beams() {
  for (const RequestId id : searches_) {
    const auto& beams = requests_.at(id).answers;
    const auto waits = [](const auto& beam) {
      return beam != nullptr && !beam->blocked && beam->state == sched::SequenceState::kWaiting;
    };
    if (std::ranges::none_of(beams, waits)) continue;
    for (const auto& beam : beams) {
      if (beam != nullptr && beam->blocked && !beam->descheduled && beam->in_flight == 0) park(*beam);
    }
  }
}

void Engine::park(ActiveSequence& beam) {
  if (beam.descheduled || beam.ending != FinishReason::kNone) return;
  settle(beam, env_.now());
  scheduler_.remove(beam);
  beam.descheduled = true;
}

// A beam that has no place gives up its pages: they can be computed again, and a sibling need not copy those that it
// shares with it. False where there is none.
bool Engine::reclaim_beams() {
  for (const RequestId id : searches_) {
    const auto& beams = requests_.at(id).answers;
    for (auto it = beams.rbegin(); it != beams.rend(); ++it) {
      if (*it == nullptr || (*it)->blocks.blocks().empty()) continue;
      if (!(*it)->descheduled && (*it)->state != sched::SequenceState::kWaiting) continue;
      publish(**it, true);
      (*it)->blocks.truncate(0);
      (*it)->scheduled = (*it)->computed = 0;
      return true;
    }
  }
  return false;
}

// `beam` goes on where `parent` is: over the same pages, as far as that has any.
void Engine::fork_beam(ActiveSequence& beam, const ActiveSequence& parent) {
  beam.copy_request(parent);
  beam.pipeline = parent.pipeline;
  beam.first_token = parent.first_token;
  beam.last_token = parent.last_token;
  beam.swapped.reset();
  beam.blocks.truncate(0);
  const bool has_pages = !parent.swapped;
  if (has_pages) {
    beam.blocks.share(parent.blocks.blocks());
    beam.blocks.set_cursor(parent.blocks.cursor());
  }
  beam.scheduled = beam.computed = has_pages ? parent.computed : 0;
}

// The search is over: its best answers are told token by token, as if they had been sampled now.
void Engine::emit_beams(RequestId id, InFlight& flight, std::vector<Output>& outputs) {
  BeamRun& run = *flight.beams;
  const auto found = run.search.finished();
  const ActiveSequence& first = *flight.answers[0];
  publish(*flight.answers[0], true);
  for (int choice = 0; choice < run.answers; ++choice) {
    const auto index = static_cast<std::size_t>(choice);
    emit_hypothesis(run, first, index < found.size() ? found[index].tokens : std::vector<std::int32_t>(), choice,
                    outputs);
    ++counters_.answers;
  }
  outputs.back().last = true;
  for (const auto& beam : flight.answers) {
    if (!beam->descheduled) scheduler_.remove(*beam);
  }
  searches_.erase(id);
  if (flight.deadline) deadlines_.erase({*flight.deadline, id});
  requests_.erase(id);
}

void Engine::emit_hypothesis(BeamRun& run, const ActiveSequence& first, std::span<const std::int32_t> tokens,
                             int choice, std::vector<Output>& outputs) {
  const decode::SamplingParams& sampling = first.sampling;
  text::Detokenizer detokenizer(tokenizer_, sampling.skip_special_tokens, sampling.shown_special_tokens);
  decode::StopMatcher stops(sampling.stop, sampling.include_stop_str_in_output ? decode::StopMatcher::Shown::kIncluded
                                                                               : decode::StopMatcher::Shown::kBefore);
  Output output;
  output.request = first.request;
  output.choice = choice;
  output.stats = first.stats;
  output.stats.output_tokens = 0;
  output.stats.cumulative_logprob = 0.0;
  output.prompt_scores = std::exchange(run.prompt_scores, {});
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < tokens.size() && output.finish == FinishReason::kNone; ++i) {
    const std::int32_t token = tokens[i];
    hash = decode::hash_with(hash, token);
    const auto score = run.scores.find(hash);
    if (score != run.scores.end()) {
      output.score = score->second;
      output.stats.cumulative_logprob += static_cast<double>(score->second.chosen.logprob);
    }
    ++output.stats.output_tokens;
    ++counters_.output_tokens;
    output.finish = emit(token, output.stats.output_tokens, sampling, detokenizer, stops, output);
    if (i + 1 == tokens.size() || output.finish != FinishReason::kNone) break;
    outputs.push_back(std::exchange(output, {.request = first.request, .choice = choice, .stats = output.stats}));
  }
  if (output.finish == FinishReason::kNone) output.finish = FinishReason::kLength;
  if (output.finish == FinishReason::kStop) predictor_->observe(first.tenant, output.stats.output_tokens);
  emit_rest(detokenizer, stops, output);
  TimeSpent spent = first.account.spent;
  spent.finished = step_end_;
  output.spent = std::make_shared<const TimeSpent>(spent);
  outputs.push_back(std::move(output));
}

}  // namespace millrace::engine
