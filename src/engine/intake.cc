#include "engine/intake.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/request_check.h"
#include "engine/used_adapters.h"

namespace millrace::engine {

void set_scheduling(ActiveSequence& sequence, const Request& request) {
  sequence.retention = request.retention;
  sequence.record.most = request.beams ? 0 : request.draft_tokens.value_or(draft::kMaxTokens);
  sequence.record.max_branches = request.draft_branches.value_or(draft::kMaxBranches);
  sequence.is_beam = request.beams.has_value();
  sequence.priority = request.priority;
  sequence.tenant = request.tenant;
  sequence.ttft_target_ms = request.ttft_target_ms;
  sequence.tpot_target_ms = request.tpot_target_ms;
  sequence.draws = !request.embed && request.sampling.max_tokens > 0;
}

void Intake::set_prompt(ActiveSequence& first, Request& request, const Sessions::Session* session) {
  first.tokens = std::move(request.tokens);
  if (request.append_to_session) {
    first.tokens.insert(first.tokens.begin(), session->tokens.begin(), session->tokens.end());
  }
  first.prompt_tokens = first.stats.prompt_tokens = first.length();
  first.reading = PromptReading::of(request);
  if (first.reading) first.shareable_tokens = first.reading->shareable_tokens(first.prompt_tokens);
  first.max_total =
      std::min(first.prompt_tokens + (first.draws ? request.sampling.max_tokens : 0), state_.max_length());
  first.pipeline.observe(first.tokens);
  first.predicted_output = 1;
  if (first.draws) {
    first.predicted_output = state_.predictor->predict(request.tenant, first.prompt_tokens, 0,
                                                       first.max_total - first.prompt_tokens, request.expected_tokens);
  }
}

// Null: it has its adapters, or they must be there. Pages of a session are of its adapters from the start.
std::unique_ptr<model::AdapterClaim> Intake::claim_of(const Request& request) const {
  const bool all = std::ranges::all_of(request.adapters, [](const AdapterUse& use) { return use.adapter != nullptr; });
  return all || request.session ? nullptr : state_.executor->claim(request.adapters);
}

Result<RequestId> Intake::submit(Request request, std::shared_ptr<grammar::CompiledGrammar> compiled) {
  if (auto valid = check_request(request, state_); !valid) return valid.error();
  auto claim = claim_of(request);
  if (claim == nullptr) {
    if (auto found = find_adapters(request.adapters, *state_.executor); !found) return found.error();
  }
  const RequestId id = state_.next_id;
  std::optional<grammar::Matcher> grammar;
  if (compiled != nullptr) grammar.emplace(std::move(compiled));
  if (grammar) state_.jump_forward();
  auto sequence = state_.make_sequence(id, 0, request.sampling, std::move(grammar));
  ActiveSequence& first = *sequence;
  Sessions::Session* session = request.session ? state_.sessions.find(*request.session) : nullptr;
  set_scheduling(first, request);
  set_prompt(first, request, session);
  first.arrival = first.stats.arrival = first.account.mark = state_.env.now();
  if (request.timeout_ms) {
    first.deadline = first.arrival + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double, std::milli>(*request.timeout_ms));
  }
  if (claim == nullptr) state_.set_adapters(first, request, session);
  first.adapters_missing = claim != nullptr;
  state_.adapters_missing = state_.adapters_missing || claim != nullptr;
  if (session != nullptr) {
    first.scheduled = first.computed =
        state_.sessions.lease(*session, first.tokens, first.scope, first.blocks, first.swapped);
  }
  RequestState flight{.live = 1, .deadline = first.deadline};
  if (request.beams) flight.beams = make_beam_run(request, first, state_.tokenizer->end_of_generation());
  flight.answers.resize(flight.beams ? 1 : static_cast<std::size_t>(request.n));
  flight.answers[0] = std::move(sequence);
  flight.request = std::move(request);
  flight.adapter_claim = std::move(claim);
  state_.requests.add(id, std::move(flight));
  state_.scheduler.add(first, state_.view());
  ++state_.counters.requests;
  state_.counters.prompt_tokens += first.prompt_tokens;
  return id;
}

}  // namespace millrace::engine
