#include "engine/beam_groups.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "decode/token_hash.h"

namespace millrace::engine {
namespace {

// Of the answer so far.
std::uint64_t hash_of(const ActiveSequence& beam) {
  std::uint64_t hash = 0;
  for (const std::int32_t token : std::span(beam.tokens).subspan(static_cast<std::size_t>(beam.prompt_tokens))) {
    hash = decode::hash_with(hash, token);
  }
  return hash;
}

}  // namespace

std::unique_ptr<BeamRun> make_beam_run(const Request& request, const ActiveSequence& first,
                                       std::span<const std::int32_t> ends) {
  decode::BeamOptions options = *request.beams;
  options.end_tokens = request.sampling.stop_token_ids;
  if (!request.sampling.ignore_eos || first.pipeline.grammar()) {  // with a grammar that is over, nothing else is left
    std::ranges::copy(ends, std::back_inserter(options.end_tokens));
  }
  options.max_tokens = first.max_total - first.prompt_tokens;
  return std::make_unique<BeamRun>(options, request.n);
}

// Kept until its siblings have as much.
void BeamGroups::score(ActiveSequence& beam, std::span<const float> logits) {
  BeamRun& run = *state_.requests.at(beam.request).beams;
  if (beam.reading) {
    run.prompt_scores = beam.reading->take_scores();
    beam.reading.reset();
  }
  if (beam.pipeline.must_end() && !run.search.options().end_tokens.empty()) {
    beam.beam_row = {{run.search.options().end_tokens.front(), 0.0}};
  } else if (const auto row = beam.pipeline.scores(logits, beam.length(), run.search.row_width()); row) {
    beam.beam_row.assign(row->begin(), row->end());
  } else {
    fail(beam, row.error());
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
  if (scored_.empty() || scored_.back() != beam.request) scored_.push_back(beam.request);
}

void BeamGroups::advance(std::vector<Output>& outputs) {
  for (auto& [id, error] : std::exchange(failed_, {})) {
    if (error.code == ErrorCode::kInternal) ++state_.counters.numerical_errors;
    endings_.end_request(id, FinishReason::kError, outputs, &error);
  }
  const auto in_flight = [](const std::unique_ptr<ActiveSequence>& beam) { return beam->in_flight > 0; };
  for (const RequestId id : std::exchange(scored_, {})) {
    RequestState* request = state_.requests.find(id);
    if (request == nullptr) continue;
    const auto lacks = [](const std::unique_ptr<ActiveSequence>& beam) {
      return beam == nullptr || beam->beam_row.empty() || beam->ending != FinishReason::kNone;
    };
    if (std::ranges::any_of(request->answers, lacks)) continue;
    if (std::ranges::any_of(request->answers, in_flight)) {
      scored_.push_back(id);  // one whose pages were lost since is being computed again
    } else {
      advance(id, *request, outputs);
    }
  }
}

void BeamGroups::advance(RequestId id, RequestState& request, std::vector<Output>& outputs) {
  BeamRun& run = *request.beams;
  const auto& beams = request.answers;
  const bool first = beams[0]->output_tokens() == 0;
  std::vector<std::span<const decode::ScoredToken>> rows;
  for (std::size_t i = 0; i < run.search.live().size(); ++i) rows.emplace_back(beams[first ? 0 : i]->beam_row);
  reporter_.note_token(*beams[0]);
  for (const auto& beam : beams) beam->count_token(state_.step_end);
  run.search.step(rows);
  run.search.done() ? emit(id, request, outputs) : replace_beams(id, request);
}

// The beams that live on take the places of those before.
void BeamGroups::replace_beams(RequestId id, RequestState& request) {
  std::vector<std::unique_ptr<ActiveSequence>> before = std::move(request.answers);
  std::vector<const ActiveSequence*> parents;
  for (const auto& beam : before) parents.push_back(beam.get());
  const bool first = parents[0]->output_tokens() == 0;
  const auto live = request.beams->search.live();
  std::vector<std::unique_ptr<ActiveSequence>> after(live.size());
  for (std::size_t i = 0; i < live.size(); ++i) {  // a parent's first child goes on in its place
    auto& place = before[first ? 0 : static_cast<std::size_t>(live[i].parent)];
    if (place != nullptr) after[i] = std::move(place);
  }
  std::erase(before, nullptr);  // beams without children lend theirs
  std::vector<ActiveSequence*> added;
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (after[i] != nullptr) continue;
    const ActiveSequence& parent = *parents[first ? 0 : static_cast<std::size_t>(live[i].parent)];
    if (before.empty()) {
      after[i] = state_.make_sequence(id, 0, parent.sampling, std::nullopt);
      after[i]->is_beam = true;
      added.push_back(after[i].get());
    } else {
      after[i] = std::move(before.back());
      before.pop_back();
    }
    fork(*after[i], parent);
  }
  for (const auto& beam : before) {
    if (!beam->descheduled) state_.scheduler.remove(*beam);
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
  for (ActiveSequence* beam : added) state_.scheduler.add(*beam, state_.view());
  request.live = static_cast<int>(after.size());
  request.answers = std::move(after);
}

void BeamGroups::park_scored() {
  for (const RequestId id : state_.requests.searches()) {
    const auto& beams = state_.requests.at(id).answers;
    const auto waits = [](const auto& beam) {
      return beam != nullptr && !beam->blocked && beam->state == sched::SequenceState::kWaiting;
    };
    if (std::ranges::none_of(beams, waits)) continue;
    for (const auto& beam : beams) {
      if (beam != nullptr && beam->blocked && !beam->descheduled && beam->in_flight == 0) park(*beam);
    }
  }
}

void BeamGroups::park(ActiveSequence& beam) {
  if (beam.descheduled || beam.ending != FinishReason::kNone) return;
  accounting_.settle(beam, state_.env.now());
  state_.scheduler.remove(beam);
  beam.descheduled = true;
}

bool BeamGroups::reclaim() {
  for (const RequestId id : state_.requests.searches()) {
    const auto& beams = state_.requests.at(id).answers;
    for (auto it = beams.rbegin(); it != beams.rend(); ++it) {
      if (*it == nullptr || (*it)->blocks.blocks().empty()) continue;
      if (!(*it)->descheduled && (*it)->state != sched::SequenceState::kWaiting) continue;
      state_.publish(**it, true);
      (*it)->blocks.truncate(0);
      (*it)->scheduled = (*it)->computed = 0;
      return true;
    }
  }
  return false;
}

// `beam` goes on where `parent` is: over the same pages, as far as that has any.
void BeamGroups::fork(ActiveSequence& beam, const ActiveSequence& parent) {
  beam.copy_request(parent);
  beam.pipeline = parent.pipeline;
  beam.first_token = parent.first_token;
  beam.last_token = parent.last_token;
  beam.swapped.reset();
  beam.blocks.truncate(0);
  const bool has_pages = !parent.swapped;
  if (has_pages) {
    beam.blocks.share(parent.blocks.blocks(), parent.blocks.behind());
    beam.blocks.set_cursor(parent.blocks.cursor());
  }
  beam.scheduled = beam.computed = has_pages ? parent.computed : 0;
}

// The search is over: its best answers are emitted token by token, as if they had been sampled now.
void BeamGroups::emit(RequestId id, RequestState& request, std::vector<Output>& outputs) {
  BeamRun& run = *request.beams;
  const auto found = run.search.finished();
  const ActiveSequence& first = *request.answers[0];
  state_.publish(*request.answers[0], true);
  for (int choice = 0; choice < run.answers; ++choice) {
    const auto index = static_cast<std::size_t>(choice);
    emit_hypothesis(run, first, index < found.size() ? found[index].tokens : std::vector<std::int32_t>(), choice,
                    outputs);
    ++state_.counters.answers;
  }
  outputs.back().last = true;
  for (const auto& beam : request.answers) {
    if (!beam->descheduled) state_.scheduler.remove(*beam);
  }
  state_.requests.erase(id);
}

void BeamGroups::emit_hypothesis(BeamRun& run, const ActiveSequence& first, std::span<const std::int32_t> tokens,
                                 int choice, std::vector<Output>& outputs) {
  const decode::SamplingParams& sampling = first.sampling;
  text::Detokenizer detokenizer = OutputWriter::make_detokenizer(state_.tokenizer, sampling);
  decode::StopMatcher stops = OutputWriter::make_stops(sampling);
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
    ++state_.counters.output_tokens;
    output.finish = writer_.write(token, output.stats.output_tokens, sampling, detokenizer, stops, output);
    if (i + 1 == tokens.size() || output.finish != FinishReason::kNone) break;
    outputs.push_back(std::exchange(output, {.request = first.request, .choice = choice, .stats = output.stats}));
  }
  if (output.finish == FinishReason::kNone) output.finish = FinishReason::kLength;
  if (output.finish == FinishReason::kStop) state_.predictor->observe(first.tenant, output.stats.output_tokens);
  OutputWriter::flush(detokenizer, stops, output);
  TimeSpent spent = first.account.spent;
  spent.finished = state_.step_end;
  output.spent = std::make_shared<const TimeSpent>(spent);
  outputs.push_back(std::move(output));
}

}  // namespace millrace::engine
