#include "engine/endings.h"

#include <utility>

#include "engine/output_writer.h"

namespace millrace::engine {

void Endings::end_overdue(std::vector<Output>& outputs) {
  for (const RequestId id : state_.requests.take_cancelled()) end_request(id, FinishReason::kCancelled, outputs);
  if (!state_.requests.next_deadline()) return;
  const TimePoint now = state_.env.now();
  while (const auto id = state_.requests.take_overdue(now)) end_request(*id, FinishReason::kTimeout, outputs);
}

void Endings::end_request(RequestId id, FinishReason reason, std::vector<Output>& outputs, const Error* error) {
  const RequestState* flight = state_.requests.find(id);
  if (flight == nullptr) return;
  std::vector<ActiveSequence*> live;  // the last one to end takes the request with it
  for (const auto& answer : flight->answers) {
    if (answer != nullptr) live.push_back(answer.get());
  }
  for (ActiveSequence* sequence : live) {
    Output output;
    if (error != nullptr) output.error = *error;
    end(*sequence, reason, std::move(output), outputs);
  }
}

void Endings::retire(ActiveSequence& sequence, FinishReason reason, Output output) {
  if (sequence.ending != FinishReason::kNone) return;
  sequence.ending = reason;
  sequence.last_output = std::make_unique<Output>(std::move(output));
  sequence.paused = true;  // no further step begins with it
  // Its last row may have published what is wrong: nobody finds that until it ends.
  if (reason == FinishReason::kError) state_.cache.forget(sequence.scope, sequence.tokens, 0);
  retiring_.push_back(&sequence);
}

// A launched step still writes its pages, or did until a moment ago.
void Endings::end(ActiveSequence& sequence, FinishReason reason, Output output, std::vector<Output>& outputs) {
  const bool marked = sequence.ending != FinishReason::kNone;
  if (sequence.in_flight > 0 || marked) return retire(sequence, reason, std::move(output));
  end_now(sequence, reason, std::move(output), outputs);
}

void Endings::end_now(ActiveSequence& sequence, FinishReason reason, Output output, std::vector<Output>& outputs) {
  const bool rejected = reason == FinishReason::kError && sequence.state == sched::SequenceState::kWaiting;
  if (reason != FinishReason::kStop && reason != FinishReason::kLength) accounting_.settle(sequence, state_.env.now());
  if (!sequence.descheduled) state_.scheduler.remove(sequence);
  RequestState& flight = state_.requests.at(sequence.request);
  OutputWriter::flush(sequence.detokenizer, sequence.stops, output);
  output.request = sequence.request;
  output.choice = sequence.choice;
  output.finish = reason;
  output.stats = sequence.stats;
  accounting_.close(sequence.account);
  sequence.account.spent.finished = sequence.account.mark;
  output.spent = std::make_shared<const TimeSpent>(sequence.account.spent);
  if (state_.speculation) state_.speculation->ended(sequence);
  if (reason == FinishReason::kStop) state_.predictor->observe(sequence.tenant, sequence.stats.output_tokens);
  give_back_pages(sequence, flight, reason != FinishReason::kError || rejected);
  output.last = --flight.live == 0;
  const bool sampled = flight.beams == nullptr;
  const bool emits = sampled || output.last;  // a search that ends early has told nothing yet: it ends as one answer
  if (output.last) {
    state_.requests.erase(sequence.request);
  } else {
    flight.answers[static_cast<std::size_t>(sequence.choice)].reset();
  }
  if (!emits) return;
  ++state_.counters.answers;
  if (!sampled) {
    output.choice = 0;
    output.stats.output_tokens = 0;
  }
  outputs.push_back(std::move(output));
}

// What a failed step wrote is not kept.
void Endings::give_back_pages(ActiveSequence& sequence, const RequestState& flight, bool trusted) {
  if (!trusted) state_.cache.forget(sequence.scope, sequence.tokens, 0);
  Sessions::Session* session = flight.request.session ? state_.sessions.find(*flight.request.session) : nullptr;
  if (session != nullptr) {
    if (!trusted) sequence.swapped.reset();
    state_.sessions.return_lease(*session, std::move(sequence.tokens), trusted ? sequence.computed : 0,
                                 std::move(sequence.blocks), std::exchange(sequence.swapped, std::nullopt));
  } else if (trusted && state_.config.prefix_caching && !sequence.swapped) {
    state_.publish(sequence, true);
  }
}

void Endings::fail(ActiveSequence& sequence, Error error, std::vector<Output>& outputs) {
  if (error.code == ErrorCode::kInternal) {
    ++state_.counters.numerical_errors;
    if (const backend::KvOverflow* overflow = state_.overflow_of(sequence)) {
      error = make_error(ErrorCode::kInternal, "kv-cache-dtype",
                         "layer {}: a {} of {} at position {} is more than {} holds: use another --kv-cache-dtype, or "
                         "--kv-exceptions {}:bf16",
                         overflow->layer, overflow->of_key ? "key" : "value", overflow->value, overflow->position,
                         overflow->encoding, overflow->layer);
    }
  }
  Output output;
  output.error = std::move(error);
  end(sequence, FinishReason::kError, std::move(output), outputs);
}

void Endings::end_retired(std::vector<Output>& outputs) {
  for (std::size_t i = 0; i < retiring_.size();) {
    ActiveSequence& sequence = *retiring_[i];
    if (sequence.in_flight > 0) {
      ++i;
      continue;
    }
    retiring_.erase(retiring_.begin() + static_cast<std::ptrdiff_t>(i));
    end_now(sequence, sequence.ending, std::move(*sequence.last_output), outputs);
  }
}

}  // namespace millrace::engine
