#include "engine/sequence_transfer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "decode/sequence_breakers.h"
#include "engine/request_check.h"
#include "engine/used_adapters.h"
#include "kv/swapped_pages.h"

namespace millrace::engine {
namespace {

template <typename... Args>
Error contradiction(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kInvalidArgument, "snapshot", format, std::forward<Args>(args)...);
}

// A time of the exporter's clock as one of ours; never stays never.
TimePoint shifted(TimePoint time, Clock::duration shift) { return time == TimePoint{} ? time : time + shift; }

Result<void> check_origin(const kv::PageOrigin& theirs, const kv::PageOrigin& ours) {
  if (theirs.model_key != ours.model_key) {
    return contradiction("the snapshot is of model {:016x}: this engine computes {:016x}", theirs.model_key,
                         ours.model_key);
  }
  if (theirs != ours) {
    return contradiction("the snapshot has pages of {} tokens and {} bytes: this engine's have {} and {}",
                         theirs.block_tokens, theirs.page_bytes, ours.block_tokens, ours.page_bytes);
  }
  return {};
}

Result<void> check_pages(std::int64_t computed, std::int64_t length, const kv::PageContents& contents,
                         const kv::PageCompanion& companion, const EngineState& state) {
  if (computed < 0 || computed > length) {
    return contradiction("the snapshot has {} tokens and says that {} are computed", length, computed);
  }
  if (auto fit = kv::check_contents(state.cache, contents, computed); !fit) {
    return contradiction("the snapshot has {} computed tokens and {}", computed, fit.error().message);
  }
  const std::size_t pages = state.cache.pages_for(computed);
  const std::size_t bytes = contents.companions.size(), each = companion.page_bytes;
  if (bytes > 0 && (each == 0 || bytes % each != 0 || bytes / each != pages)) {
    return contradiction("the snapshot has {} bytes beside its pages: {} pages have {} each", bytes, pages, each);
  }
  return {};
}

// What another drafter keeps is of no use here.
kv::PageContents usable(kv::PageContents contents, const kv::PageCompanion& theirs, const EngineState& state) {
  if (theirs != state.cache.companion()) contents.companions.clear();
  return contents;
}

Result<void> check_answer(const SequenceSnapshot& snapshot, const AnswerSnapshot& answer, const EngineState& state) {
  const std::int64_t prompt = std::ssize(snapshot.request.tokens), length = prompt + std::ssize(answer.tokens);
  if (answer.choice < 0 || (!snapshot.beams && answer.choice >= snapshot.request.n)) {
    return contradiction("the snapshot has an answer {}: the request asks for {}", answer.choice, snapshot.request.n);
  }
  if (auto known = check_tokens(answer.tokens, state.executor->vocab_size(), "snapshot"); !known) return known;
  if (!snapshot.beams && answer.stats.output_tokens != std::ssize(answer.tokens)) {
    return contradiction("the snapshot has an answer of {} tokens and counts {}", answer.tokens.size(),
                         answer.stats.output_tokens);
  }
  if (answer.max_total < length || answer.predicted_output < 1) {
    return contradiction("the snapshot has {} tokens, may grow to {} and expects {}", length, answer.max_total,
                         answer.predicted_output);
  }
  if (answer.max_total > state.max_length()) {
    return make_error(ErrorCode::kContextLength, "snapshot",
                      "the sequence may grow to {} tokens: the limit of this engine is {}", answer.max_total,
                      state.max_length());
  }
  if (answer.reading && !answer.reading->plausible(prompt)) {
    return contradiction("the snapshot has read more of its prompt than the {} tokens it has", prompt);
  }
  return check_pages(answer.computed, length - 1, answer.pages, snapshot.companion, state);
}

// Those that wait for a sibling's scores must have one to wait for.
Result<void> check_beams(const SequenceSnapshot& snapshot) {
  const bool scored =
      std::ranges::none_of(snapshot.answers, [](const AnswerSnapshot& beam) { return beam.beam_row.empty(); });
  if (snapshot.beams.has_value() != snapshot.request.beams.has_value()) {
    return contradiction("the snapshot has beams and no search, or a search and no beams");
  }
  if (!snapshot.beams) return {};
  const auto& live = snapshot.beams->search.live;
  const std::size_t expected = snapshot.beams->search.length == 0 ? 1 : live.size();
  if (snapshot.answers.size() != expected || scored) {
    return contradiction("the snapshot has {} beams, {} of them still to be computed: the search has {}",
                         snapshot.answers.size(), scored ? "none" : "some", expected);
  }
  for (std::size_t i = 0; i < snapshot.answers.size(); ++i) {
    if (snapshot.answers[i].choice != static_cast<int>(i) || live.size() <= i ||
        snapshot.answers[i].tokens != live[i].tokens) {
      return contradiction("beam {} of the snapshot is not the search's", i);
    }
  }
  return {};
}

Result<void> check(const SequenceSnapshot& snapshot, const EngineState& state) {
  if (auto same = check_origin(snapshot.origin, state.origin()); !same) return same;
  if (snapshot.request.session) {
    return contradiction("the snapshot's request names session {}, which is another engine's",
                         *snapshot.request.session);
  }
  if (auto valid = check_request(snapshot.request, state); !valid) return valid;
  if (snapshot.answers.empty()) return contradiction("the snapshot has no answers");
  std::set<int> choices;
  for (const AnswerSnapshot& answer : snapshot.answers) {
    if (auto valid = check_answer(snapshot, answer, state); !valid) return valid;
    if (!choices.insert(answer.choice).second) return contradiction("the snapshot has answer {} twice", answer.choice);
  }
  return check_beams(snapshot);
}

// What the answer's tokens do to what turns logits into text. kInvalidArgument where they would have ended it, or do
// not fit its grammar.
Result<void> replay(const AnswerSnapshot& answer, const OutputWriter& writer, ActiveSequence& sequence) {
  auto grammar = sequence.pipeline.grammar();
  Output ignored;
  for (std::size_t i = 0; i < answer.tokens.size(); ++i) {
    const std::int32_t token = answer.tokens[i];
    if (grammar && !grammar->accept(token)) {
      return contradiction("token {} of the snapshot's answer does not fit its grammar", i);
    }
    sequence.pipeline.accept(token);
    sequence.tokens.push_back(token);
    if (sequence.is_beam) continue;
    const auto n = static_cast<std::int64_t>(i) + 1;
    if (writer.write(token, n, sequence.sampling, sequence.detokenizer, sequence.stops, ignored) !=
        FinishReason::kNone) {
      return contradiction("token {} of the snapshot's answer ends it", i);
    }
  }
  sequence.pipeline.set_mirostat_mu(answer.mirostat_mu);
  return {};
}

// The contents of the pages of so many tokens, wherever they are. Those that a device has lost are to be computed
// again: then `tokens` becomes 0.
kv::PageContents take_pages(const kv::PagedCache& cache, const kv::BlockTable& blocks,
                            const std::optional<kv::SwapTicket>& swapped, std::int64_t& tokens) {
  if (swapped) return cache.export_pages(*swapped, tokens);
  if (auto pages = cache.export_pages(blocks, tokens)) return *std::move(pages);
  tokens = 0;
  return {};
}

void restore_times(const AnswerSnapshot& answer, Clock::duration shift, ActiveSequence& sequence) {
  sequence.stats = answer.stats;
  for (TimePoint* time :
       {&sequence.stats.arrival, &sequence.stats.admitted, &sequence.stats.first_token, &sequence.stats.last_token}) {
    *time = shifted(*time, shift);
  }
  sequence.arrival = sequence.stats.arrival;
  if (sequence.stats.output_tokens > 0) {
    sequence.first_token = sequence.stats.first_token;
    sequence.last_token = sequence.stats.last_token;
  }
  sequence.account = answer.account;
  sequence.account.mark += shift;
  sequence.account.preempted = sequence.stats.admitted != TimePoint{};
  sequence.account.lost = std::max(sequence.account.lost, answer.computed);
}

}  // namespace

AnswerSnapshot SequenceTransfer::snapshot_of(ActiveSequence& sequence) {
  accounting_.settle(sequence, state_.env.now());
  const auto answer = std::span(sequence.tokens).subspan(static_cast<std::size_t>(sequence.prompt_tokens));
  std::int64_t computed = sequence.is_beam ? 0 : sequence.computed;  // beams share theirs, and compute them again
  kv::PageContents pages = take_pages(state_.cache, sequence.blocks, sequence.swapped, computed);
  AnswerSnapshot out{.choice = sequence.choice,
                     .tokens = {answer.begin(), answer.end()},
                     .computed = computed,
                     .pages = std::move(pages),
                     .mirostat_mu = sequence.pipeline.mirostat_mu(),
                     .max_total = sequence.max_total,
                     .predicted_output = sequence.predicted_output,
                     .preemptions = sequence.preemptions,
                     .stats = sequence.stats,
                     .account = sequence.account,
                     .record = sequence.record,
                     .beam_row = sequence.beam_row};
  if (sequence.reading) out.reading = *sequence.reading;
  out.record.forget();
  return out;
}

Result<SequenceSnapshot> SequenceTransfer::export_sequence(RequestId id, std::vector<Output>& outputs) {
  loop_.finish_launched(outputs);
  RequestState* flight = state_.requests.find(id);
  if (flight == nullptr || flight->cancelled) {
    return make_error(ErrorCode::kNotFound, "request", "no request {} is in flight", id);
  }
  if (flight->adapter_claim != nullptr) {
    return make_error(ErrorCode::kUnavailable, "request", "request {} waits for its adapters", id);
  }
  SequenceSnapshot out{.origin = state_.origin(),
                       .companion = state_.cache.companion(),
                       .exported = state_.env.now(),
                       .request = flight->request};
  // One that was closed meanwhile stays closed.
  out.in_session = out.request.session && state_.sessions.find(*out.request.session) != nullptr;
  out.request.session.reset();
  out.request.append_to_session = false;
  out.deadline = flight->deadline;
  for (const auto& answer : flight->answers) {
    if (answer == nullptr) continue;
    if (out.answers.empty()) {
      out.request.tokens.assign(answer->tokens.begin(), answer->tokens.begin() + answer->prompt_tokens);
    }
    out.answers.push_back(snapshot_of(*answer));
  }
  if (flight->beams) {
    out.beams = {.search = flight->beams->search.state(),
                 .prompt_scores = flight->beams->prompt_scores,
                 .scores = {flight->beams->scores.begin(), flight->beams->scores.end()}};
  }
  remove(id, *flight);
  ++state_.counters.exports;
  return out;
}

void SequenceTransfer::remove(RequestId id, RequestState& flight) {
  for (const auto& answer : flight.answers) {
    if (answer == nullptr) continue;
    if (!answer->descheduled) state_.scheduler.remove(*answer);
    if (state_.speculation) state_.speculation->ended(*answer);
    if (state_.config.prefix_caching && !answer->swapped) state_.publish(*answer, true);
  }
  const auto session = flight.request.session;
  state_.requests.erase(id);
  if (session) state_.sessions.close(*session);
}

Result<std::unique_ptr<ActiveSequence>> SequenceTransfer::restore(const SequenceSnapshot& snapshot,
                                                                  const AnswerSnapshot& answer, RequestId id,
                                                                  const decode::SamplingParams& asked,
                                                                  std::optional<grammar::Matcher> grammar) {
  decode::SamplingParams sampling = asked;
  if (!snapshot.beams) sampling.seed += static_cast<std::uint64_t>(answer.choice);
  auto made = state_.make_sequence(id, answer.choice, sampling, std::move(grammar));
  ActiveSequence& sequence = *made;
  set_scheduling(sequence, snapshot.request);
  sequence.tokens = snapshot.request.tokens;
  sequence.prompt_tokens = sequence.length();
  sequence.pipeline.observe(sequence.tokens);
  if (auto replayed = replay(answer, OutputWriter(state_.tokenizer), sequence); !replayed) return replayed.error();
  sequence.max_total = answer.max_total;
  sequence.predicted_output = answer.predicted_output;
  sequence.preemptions = answer.preemptions;
  if (answer.reading) {
    sequence.reading = std::make_unique<PromptReading>(*answer.reading);
    sequence.shareable_tokens = sequence.reading->shareable_tokens(sequence.prompt_tokens);
  }
  const auto [most, max_branches] = std::pair(sequence.record.most, sequence.record.max_branches);
  sequence.record = answer.record;
  sequence.record.most = most;
  sequence.record.max_branches = max_branches;
  sequence.beam_row = answer.beam_row;
  const Clock::duration shift = state_.env.now() - snapshot.exported;
  restore_times(answer, shift, sequence);
  if (snapshot.deadline) sequence.deadline = *snapshot.deadline + shift;
  if (answer.computed > 0) {
    sequence.swapped.emplace(usable(answer.pages, snapshot.companion, state_));
    sequence.scheduled = sequence.computed = answer.computed;
  }
  return made;
}

Result<ImportedSequence> SequenceTransfer::import_sequence(const SequenceSnapshot& snapshot,
                                                           const std::shared_ptr<grammar::CompiledGrammar>& grammar) {
  if (auto valid = check(snapshot, state_); !valid) return valid.error();
  if (snapshot.request.grammar != nullptr && grammar == nullptr) {
    return contradiction("the snapshot's request has a grammar, and none was compiled for this engine");
  }
  RequestState flight{.request = snapshot.request, .live = static_cast<int>(snapshot.answers.size())};
  flight.request.tokens.clear();
  if (auto found = find_adapters(flight.request.adapters, *state_.executor); !found) return found.error();
  decode::SamplingParams& sampling = flight.request.sampling;
  if (sampling.dry_sequence_breakers && !sampling.dry_sequence_breakers->found()) {
    sampling.dry_sequence_breakers =
        decode::find_sequence_breakers(sampling.dry_sequence_breakers->strings(), *state_.tokenizer);
  }
  ImportedSequence out{.request = state_.next_id};
  std::vector<ActiveSequence*> made;
  flight.answers.resize(snapshot.beams ? snapshot.answers.size() : static_cast<std::size_t>(snapshot.request.n));
  for (const AnswerSnapshot& answer : snapshot.answers) {
    std::optional<grammar::Matcher> fits;
    if (grammar != nullptr) fits.emplace(grammar);
    auto sequence = restore(snapshot, answer, out.request, sampling, std::move(fits));
    if (!sequence) return sequence.error();
    made.push_back(sequence->get());
    flight.answers[static_cast<std::size_t>(answer.choice)] = *std::move(sequence);
  }
  if (snapshot.beams) {
    flight.beams = make_beam_run(snapshot.request, *made[0], state_.tokenizer->end_of_generation());
    if (auto restored = flight.beams->search.restore(snapshot.beams->search); !restored) return restored.error();
    flight.beams->prompt_scores = snapshot.beams->prompt_scores;
    flight.beams->scores = {snapshot.beams->scores.begin(), snapshot.beams->scores.end()};
  }
  // Nothing fails from here on.
  flight.deadline = made[0]->deadline;
  Sessions::Session* session = nullptr;
  if (snapshot.in_session) {
    out.session = flight.request.session = state_.sessions.open();
    session = state_.sessions.find(*out.session);
  }
  state_.set_adapters(*made[0], flight.request, session);
  if (session != nullptr) {
    std::optional<kv::SwapTicket> none;
    state_.sessions.lease(*session, made[0]->tokens, made[0]->scope, made[0]->blocks, none);
  }
  if (grammar != nullptr) state_.jump_forward();
  state_.requests.add(out.request, std::move(flight));
  for (ActiveSequence* sequence : made) {
    sequence->scope = made[0]->scope;
    sequence->adapters = made[0]->adapters;
    sequence->blocked = sequence->descheduled = !sequence->beam_row.empty();
    if (!sequence->descheduled) state_.scheduler.add(*sequence, state_.view());
  }
  ++state_.counters.imports;
  return out;
}

Result<SessionSnapshot> SequenceTransfer::export_session(SessionId id) {
  auto found = state_.sessions.idle(id);
  if (!found) return found.error();
  Sessions::Session& session = **found;
  std::int64_t computed = session.computed;
  kv::PageContents pages = take_pages(state_.cache, session.blocks, session.swapped, computed);
  SessionSnapshot out{.origin = state_.origin(),
                      .companion = state_.cache.companion(),
                      .tokens = session.tokens,
                      .computed = computed,
                      .pages = std::move(pages),
                      .scope = session.scope};
  state_.sessions.close(id);
  return out;
}

Result<SessionId> SequenceTransfer::import_session(const SessionSnapshot& snapshot) {
  if (auto same = check_origin(snapshot.origin, state_.origin()); !same) return same.error();
  if (auto known = check_tokens(snapshot.tokens, state_.executor->vocab_size(), "snapshot"); !known) {
    return known.error();
  }
  const auto length = std::ssize(snapshot.tokens);
  if (auto valid = check_pages(snapshot.computed, length, snapshot.pages, snapshot.companion, state_); !valid) {
    return valid.error();
  }
  const SessionId id = state_.sessions.open();
  Sessions::Session& session = *state_.sessions.find(id);
  session.tokens = snapshot.tokens;
  session.computed = snapshot.computed;
  session.scope = snapshot.scope;
  if (snapshot.computed > 0) {
    session.swapped.emplace(usable(snapshot.pages, snapshot.companion, state_));
  }
  return id;
}

}  // namespace millrace::engine
