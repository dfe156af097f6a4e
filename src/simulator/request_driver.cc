#include "simulator/request_driver.h"

#include <algorithm>
#include <chrono>

#include "engine/active_sequence.h"
#include "simulator/letter_tokenizer.h"

namespace millrace::simulator {

using engine::Engine;
using engine::RequestId;
using engine::SessionId;

void RequestDriver::serve_with(std::vector<Engine*> engines, AdapterShelf& adapters) {
  engines_ = std::move(engines);
  adapters_ = &adapters;
  book_.forget_all();
  sessions_.clear();
  transit_.clear();
}

Engine& RequestDriver::engine_of(const Asked* asked) const {
  return *engines_[asked == nullptr || asked->engine == kInTransit ? 0 : asked->engine];
}

Engine& RequestDriver::engine_of_session(SessionId id) const {
  const auto it = sessions_.find(id);
  return *engines_[it == sessions_.end() || it->second.engine == kInTransit ? 0 : it->second.engine];
}

std::optional<RequestId> RequestDriver::ask(engine::Request request, std::size_t client) {
  Asked asked;
  asked.prompt = request.tokens;
  asked.engine = static_cast<std::size_t>(asked_) % engines_.size();
  Session* session = nullptr;
  if (request.session) {
    const auto it = sessions_.find(*request.session);
    if (it == sessions_.end() || it->second.busy) return std::nullopt;
    session = &it->second;
    asked.engine = session->engine;
    if (request.append_to_session) {
      asked.prompt.insert(asked.prompt.begin(), session->tokens.begin(), session->tokens.end());
      coverage_.count(Event::kSessionAppended);
    }
    asked.from_session = std::ranges::mismatch(session->tokens, asked.prompt).in2 - asked.prompt.begin();
  }
  if (!request.session) adapters_->equip(request);
  Engine& engine = *engines_[asked.engine];
  const bool fits =
      !asked.prompt.empty() && static_cast<std::int64_t>(asked.prompt.size()) < engine.limits().max_length &&
      std::max(request.n, request.beams ? request.beams->width : 0) <= scenario_.engine.scheduling.max_sequences;
  const bool full = static_cast<std::int64_t>(engine.scheduler().waiting().size()) >= scenario_.engine.max_waiting;
  const auto id = engine.submit(request);
  if (!id && fits && adapters_->may_refuse(request, id.error())) {  // a rank finds other files than rank 0 did
    coverage_.count(Event::kAdapterRefused);
    return std::nullopt;
  }
  if (id.ok() != (fits && !full)) {
    verdict_.fail("Q1", id ? *id : 0, "a request that {} was {}", fits && !full ? "fits" : "does not fit",
                  id ? "accepted" : "refused: " + id.error().message);
  }
  if (!id) {
    coverage_.count(fits ? Event::kQueueFull : Event::kInvalidRejected);
    return std::nullopt;
  }
  ++asked_;
  if (session != nullptr) session->busy = true;
  asked.id = *id;
  asked.client = client;
  asked.arrival = env_.time;
  if (request.timeout_ms) {
    asked.deadline = env_.time + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double, std::milli>(*request.timeout_ms));
  }
  const std::int64_t longest = std::min(static_cast<std::int64_t>(asked.prompt.size()) + request.sampling.max_tokens,
                                        engine.limits().max_length);
  asked.request = std::move(request);
  for (engine::AdapterUse& use : asked.request.adapters) use.adapter = nullptr;
  book_.open(std::move(asked), longest);
  return *id;
}

void RequestDriver::ask_wrongly(engine::Request request) {
  Engine& engine = *engines_[0];
  const auto before = engine.counters().requests;
  expect_rejection(!engine.submit(std::move(request)), "a wrong request");
  if (engine.counters().requests != before) verdict_.fail("Q1", 0, "a refused request was counted");
  coverage_.count(Event::kInvalidRejected);
}

void RequestDriver::expect_rejection(bool rejected, const char* what) {
  if (!rejected) verdict_.fail("Q1", 0, "{} was accepted", what);
}

void RequestDriver::cancel(RequestId id) {
  Asked* asked = book_.find(id);
  Engine& engine = engine_of(asked);
  engine.cancel(id);
  if (asked == nullptr) return;
  for (Transit& transit : transit_) transit.cancelled = transit.cancelled || transit.id == id;
  const std::int64_t by = step_ + scenario_.executor.depth;
  if (asked->must_end_by >= 0) coverage_.count(Event::kCancelledTwice);
  asked->must_end_by = asked->must_end_by < 0 ? by : std::min(asked->must_end_by, by);
  const auto count = [&](const sched::Sequence* sequence, bool waits) {
    if (static_cast<const engine::ActiveSequence*>(sequence)->request != id) return;
    coverage_.count(sequence->swapped               ? Event::kCancelledSwapped
                    : waits                         ? Event::kCancelledWaiting
                    : sequence->output_tokens() > 0 ? Event::kCancelledDecoding
                                                    : Event::kCancelledPrefilling);
  };
  for (const sched::Sequence* sequence : engine.scheduler().waiting()) count(sequence, true);
  for (const sched::Sequence* sequence : engine.scheduler().running()) count(sequence, false);
}

void RequestDriver::pause(Asked& asked, bool paused) {
  if (asked.paused == paused) return;
  engine_of(&asked).pause(asked.id, paused);
  asked.paused = paused;
  asked.paused_since = env_.time;
  coverage_.count(paused ? Event::kPaused : Event::kResumed);
}

void RequestDriver::read(RequestId id) {
  Asked* asked = book_.find(id);
  if (asked == nullptr) return;
  asked->unread = 0;
  pause(*asked, false);
}

void RequestDriver::look_after() {
  for (auto& [id, asked] : book_.live()) {
    if (asked.engine == kInTransit) continue;
    if (asked.deadline && env_.time >= *asked.deadline) {
      const std::int64_t by = step_ + scenario_.executor.depth;
      asked.must_end_by = asked.must_end_by < 0 ? by : std::min(asked.must_end_by, by);
    }
    if (asked.unread >= scenario_.reader_room * asked.request.n) pause(asked, true);
    if (asked.paused && asked.must_end_by < 0 &&
        milliseconds_between(asked.paused_since, env_.time) > scenario_.slow_reader_ms) {
      coverage_.count(Event::kAbandonedSlowReader);
      cancel(id);
    }
  }
}

void RequestDriver::deliver(const std::vector<engine::Output>& outputs, bool faulty, bool ranks_lost,
                            std::vector<Asked>& ended) {
  for (const engine::Output& output : outputs) {
    auto asked = book_.take(output, {.caching = scenario_.engine.prefix_caching,
                                     .rejects_late = scenario_.rejects_late(),
                                     .faulty = faulty,
                                     .ranks_lost = ranks_lost,
                                     .adapters = adapters_});
    if (verdict_.failed()) return;
    if (!asked) continue;
    if (output.stats.cached_tokens > asked->from_session &&
        output.stats.cached_tokens % scenario_.executor.block_tokens != 0) {
      coverage_.count(Event::kPartialPageMatched);
    }
    if (asked->forked && asked->request.n > 1) coverage_.count(Event::kForkedAnswers);
    const auto session = asked->request.session ? sessions_.find(*asked->request.session) : sessions_.end();
    if (session != sessions_.end()) {
      session->second.busy = false;
      session->second.tokens = book_.text_of(asked->id);
    }
    ended.push_back(std::move(*asked));
  }
}

SessionId RequestDriver::open_session() {
  const std::size_t place = sessions_.size() % engines_.size();
  const SessionId id = engines_[place]->sessions().open();
  sessions_.emplace(id, Session{.tokens = {}, .engine = place});
  return id;
}

std::optional<SessionId> RequestDriver::fork_session(SessionId id) {
  const auto it = sessions_.find(id);
  const bool possible = it != sessions_.end() && !it->second.busy;
  const auto forked = engine_of_session(id).sessions().fork(id);
  if (!possible) {
    expect_rejection(!forked, "a fork of a session that is busy or closed");
    coverage_.count(Event::kSessionUsedBusy);
    return std::nullopt;
  }
  if (!forked) {
    verdict_.fail("Q1", 0, "a session cannot be forked: {}", forked.error().message);
    return std::nullopt;
  }
  const bool amid = static_cast<std::int64_t>(it->second.tokens.size()) % scenario_.executor.block_tokens != 0;
  coverage_.count(amid ? Event::kSessionForkedAmidPage : Event::kSessionForked);
  sessions_.emplace(*forked, Session{it->second.tokens, false, it->second.engine});
  return *forked;
}

void RequestDriver::roll_back(SessionId id, std::int64_t tokens) {
  const auto it = sessions_.find(id);
  const bool possible = it != sessions_.end() && !it->second.busy && tokens >= 0 &&
                        tokens <= static_cast<std::int64_t>(it->second.tokens.size());
  const auto done = engine_of_session(id).sessions().rollback(id, tokens);
  if (done.ok() != possible) {
    verdict_.fail("Q1", 0, "a rollback to {} tokens was {}", tokens,
                  done ? "done" : "refused: " + done.error().message);
  }
  if (!done) return;
  it->second.tokens.resize(static_cast<std::size_t>(tokens));
  coverage_.count(Event::kSessionRolledBack);
}

void RequestDriver::close_session(SessionId id) {
  const auto it = sessions_.find(id);
  if (it == sessions_.end()) return;
  if (it->second.busy) coverage_.count(Event::kSessionClosedBusy);
  engine_of_session(id).sessions().close(id);
  sessions_.erase(it);
}

std::int64_t RequestDriver::session_length(SessionId id) const {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? -1 : static_cast<std::int64_t>(it->second.tokens.size());
}

bool RequestDriver::session_busy(SessionId id) const {
  const auto it = sessions_.find(id);
  return it != sessions_.end() && it->second.busy;
}

void RequestDriver::close_all_sessions() {
  while (!sessions_.empty()) close_session(sessions_.begin()->first);
}

}  // namespace millrace::simulator
