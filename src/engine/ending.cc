#include <algorithm>

#include "engine/engine.h"

namespace millrace::engine {

// Requests that were cancelled or whose time is up.
void Engine::end_overdue(std::vector<Output>& outputs) {
  for (const RequestId id : std::exchange(cancelled_, {})) end_request(id, FinishReason::kCancelled, outputs);
  if (deadlines_.empty()) return;
  const TimePoint now = env_.now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const RequestId id = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    end_request(id, FinishReason::kTimeout, outputs);
  }
}

void Engine::end_request(RequestId id, FinishReason reason, std::vector<Output>& outputs, const Error* error) {
  const auto it = requests_.find(id);
  if (it == requests_.end()) return;
  std::vector<ActiveSequence*> live;  // the last one to end takes the request with it
  for (auto& answer : it->second.answers) {
    if (answer != nullptr) live.push_back(answer.get());
  }
  for (ActiveSequence* running : live) {
    Output output;
    if (error != nullptr) output.error = *error;
    end(*running, reason, std::move(output), outputs);
  }
}

void Engine::end(ActiveSequence& running, FinishReason reason, Output output, std::vector<Output>& outputs) {
  if (running.in_flight > 0) {  // a launched step still writes its pages
    if (running.ending == FinishReason::kNone) {
      running.ending = reason;
      running.failure = std::move(output.error);
      running.paused = true;  // no further step begins with it
      retiring_.push_back(&running);
    }
    return;
  }
  const bool rejected = reason == FinishReason::kError && running.state == sched::SequenceState::kWaiting;
  if (reason != FinishReason::kStop && reason != FinishReason::kLength) settle(running, env_.now());
  if (!running.descheduled) scheduler_.remove(running);
  InFlight& flight = requests_.at(running.request);
  emit_rest(running.detokenizer, running.stops, output);
  output.request = running.request;
  output.choice = running.choice;
  output.finish = reason;
  output.stats = running.stats;
  close_streak(running.account);
  running.account.spent.finished = running.account.mark;
  output.spent = std::make_shared<const TimeSpent>(running.account.spent);
  if (speculation_) speculation_->ended(running);
  if (reason == FinishReason::kStop) predictor_->observe(running.tenant, running.stats.output_tokens);
  const bool trusted = reason != FinishReason::kError || rejected;  // what a failed step wrote is not kept
  if (!trusted) cache_.forget(running.scope, running.tokens, 0);
  Sessions::Session* session = flight.session ? sessions_.find(*flight.session) : nullptr;
  if (session != nullptr) {
    const std::int64_t kept = trusted && !running.swapped ? running.computed : 0;
    sessions_.return_lease(*session, std::move(running.tokens), kept, std::move(running.blocks));
  } else if (trusted && config_.prefix_caching && !running.swapped) {
    publish(running, true);
  }
  output.last = --flight.live == 0;
  if (output.last && flight.deadline) deadlines_.erase({*flight.deadline, running.request});
  const bool sampled = flight.beams == nullptr;
  const bool emits = sampled || output.last;  // a search that ends early has told nothing yet: it ends as one answer
  if (output.last) {
    searches_.erase(running.request);
    requests_.erase(running.request);
  } else {
    flight.answers[static_cast<std::size_t>(running.choice)].reset();
  }
  if (!emits) return;
  ++counters_.answers;
  if (!sampled) {
    output.choice = 0;
    output.stats.output_tokens = 0;
  }
  outputs.push_back(std::move(output));
}

void Engine::end_retired(std::vector<Output>& outputs) {
  for (std::size_t i = 0; i < retiring_.size();) {
    ActiveSequence& running = *retiring_[i];
    if (running.in_flight > 0) {
      ++i;
      continue;
    }
    retiring_.erase(retiring_.begin() + static_cast<std::ptrdiff_t>(i));
    Output output;
    output.error = std::move(running.failure);
    end(running, running.ending, std::move(output), outputs);
  }
}

}  // namespace millrace::engine
