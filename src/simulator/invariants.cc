#include "simulator/invariants.h"

#include <algorithm>
#include <set>

#include "engine/active_sequence.h"

namespace millrace::simulator {
namespace {

constexpr std::int32_t kMaxStepsLeftOut = 32;
constexpr int kMaxIdleRounds = 3;

std::uint64_t request_of(const sched::Sequence& sequence) {
  return static_cast<const engine::ActiveSequence&>(sequence).request;
}

// The most that the steps in flight can bring its `scheduled` to.
std::int64_t max_scheduled(const sched::Sequence& sequence) {
  std::int64_t most = sequence.scheduled;
  for (const auto& branch : sequence.branches) most = std::max(most, sequence.length() + std::ssize(branch));
  return sequence.in_flight > 0 ? most : sequence.scheduled;
}

}  // namespace

void Invariants::before_step(const engine::Engine& engine) {
  oldest_ = 0;
  leased_ = std::ranges::any_of(engine.scheduler().waiting(),
                                [](const sched::Sequence* s) { return !s->blocks.blocks().empty(); });
  paused_.clear();
  ran_.clear();
  for (const sched::Sequence* sequence : engine.scheduler().running()) {
    ran_.insert(sequence->id);
    if (sequence->paused) paused_.emplace(sequence->id, max_scheduled(*sequence));
  }
  for (const sched::Sequence* sequence : engine.scheduler().running()) {
    if (sequence->paused || sequence->blocked) continue;
    oldest_ = sequence->id;
    return;
  }
}

void Invariants::after_step(engine::Engine& engine, const RequestDriver& desk, const AdapterShelf& adapters,
                            TimePoint now, bool anything_came) {
  stayed_ =
      std::ranges::any_of(engine.scheduler().running(), [&](const sched::Sequence* s) { return ran_.contains(s->id); });
  engine.check_integrity();
  check_queues(engine, desk);
  check_oldest(engine, desk);
  check_batch(engine);
  check_progress(engine, desk, adapters, now, anything_came);
}

void Invariants::check_queues(engine::Engine& engine, const RequestDriver& desk) {
  const auto waiting = engine.scheduler().waiting(), running = engine.scheduler().running();
  std::set<sched::SequenceId> seen;
  std::size_t beams = 0;  // of which there are as many as the search has
  const auto check = [&](const sched::Sequence& sequence, bool waits) {
    if (!seen.insert(sequence.id).second) verdict_.fail("Q1", request_of(sequence), "in two queues");
    check_sequence(sequence, waits);
    beams += static_cast<const engine::ActiveSequence&>(sequence).is_beam ? 1 : 0;
  };
  for (const sched::Sequence* sequence : waiting) check(*sequence, true);
  for (const sched::Sequence* sequence : running) {
    check(*sequence, false);
    const auto paused = paused_.find(sequence->id);
    if (paused != paused_.end() && sequence->scheduled > paused->second) {
      verdict_.fail("Q2", request_of(*sequence), "served although its reader is slow");
    }
  }
  if (seen.size() - beams != desk.book().answers_in_flight(place_)) {
    verdict_.fail("Q1", 0, "{} answers are in the queues, {} are owed", seen.size() - beams,
                  desk.book().answers_in_flight(place_));
  }
  if (static_cast<std::int64_t>(running.size()) > scenario_.engine.scheduling.max_sequences) {
    verdict_.fail("Q2", 0, "{} sequences run, the limit is {}", running.size(),
                  scenario_.engine.scheduling.max_sequences);
  }
  const kv::CacheUse use = engine.cache().use();
  std::int64_t swapped = engine.sessions().swap_space_pages();
  for (const sched::Sequence* sequence : waiting) swapped += sequence->swapped ? sequence->swapped->space_pages() : 0;
  if (use.swap_used_pages != swapped) {
    verdict_.fail("B3", 0, "{} pages of swap space are taken, the tickets hold {}", use.swap_used_pages, swapped);
  }
  if (engine.counters().output_tokens < 0 || engine.counters().cached_tokens > engine.counters().queried_tokens) {
    verdict_.fail("S2", 0, "the counters do not add up");
  }
}

void Invariants::check_sequence(const sched::Sequence& s, bool waits) {
  const std::uint64_t request = request_of(s);
  const std::int64_t drafts = s.in_flight > 0 ? std::ssize(s.drafts) : 0;
  if (s.computed < 0 || s.computed > s.scheduled || s.scheduled > s.planned_length() + drafts ||
      s.planned_length() > s.max_total) {
    verdict_.fail("B5", request, "computed {}, scheduled {}, length {} and {} unseen, at most {}", s.computed,
                  s.scheduled, s.length(), s.unseen, s.max_total);
  }
  const auto pages = static_cast<std::int64_t>(s.blocks.blocks().size());
  const std::int64_t ahead = scenario_.drafting.computes ? scenario_.drafting.tokens : drafts;
  const bool ended = static_cast<const engine::ActiveSequence&>(s).ending != engine::FinishReason::kNone;
  const std::int64_t past_end =
      ended ? scenario_.executor.depth : 0;  // rows that were launched before its end was known
  const auto most = static_cast<std::int64_t>(s.blocks.pages_for(s.planned_length() + ahead + past_end));
  const auto least = s.swapped ? 0 : static_cast<std::int64_t>(s.blocks.pages_for(s.scheduled));
  if (pages < least || pages > most) {
    verdict_.fail("B5", request, "{} pages for {} tokens, of which {} are scheduled; expected {} to {}", pages,
                  s.length(), s.scheduled, least, most);
  }
  if (s.swapped &&
      (!waits || pages > 0 || s.swapped->pages() < static_cast<std::int64_t>(s.blocks.pages_for(s.computed)))) {
    verdict_.fail("B5", request, "swapped out {} pages with {} tokens, holds {} pages and {}", s.swapped->pages(),
                  s.computed, pages, waits ? "waits" : "runs");
  }
  check_window(s);
  // An idle engine serves those it can: requests with leased pages of a session that the others wait for.
  // Those that wait for adapters hold back nobody.
  const bool excused = (leased_ && !stayed_) || s.adapters_missing;
  if (waits && excused && s.bypassed > scenario_.engine.scheduling.max_bypassed) excused_[s.id] = s.bypassed;
  if (!waits && s.adapters_missing) verdict_.fail("A3", request, "runs without its adapters");
  if (waits && s.bypassed > std::max(scenario_.engine.scheduling.max_bypassed, excused_[s.id])) {
    verdict_.fail("F1", request, "bypassed {} times, the limit is {}", s.bypassed,
                  scenario_.engine.scheduling.max_bypassed);
  }
  if (!waits && !s.paused && s.starved_steps > kMaxStepsLeftOut) {
    verdict_.fail("F2", request, "left out of {} steps, the limit is {}", s.starved_steps, kMaxStepsLeftOut);
  }
}

// Window pages go back as the window moves on: what is left is the window, and what was computed since the last launch.
void Invariants::check_window(const sched::Sequence& s) {
  if (scenario_.executor.window == 0 || s.swapped) return;
  const std::int64_t block_tokens = scenario_.executor.block_tokens;
  const std::int64_t steps = (scenario_.executor.depth + 1) * scenario_.engine.scheduling.max_batched_tokens;
  const std::int64_t most = scenario_.executor.window + steps + scenario_.drafting.tokens + 2 * block_tokens;
  const std::int64_t held = s.blocks.capacity_tokens() - static_cast<std::int64_t>(s.blocks.behind()) * block_tokens;
  if (held > most) {
    verdict_.fail("B7", request_of(s), "window pages of {} tokens, the window is {}", held, scenario_.executor.window);
  }
}

// The oldest that ran and was not paused runs still, or has ended. With two steps in flight an older one may have come
// in between.
void Invariants::check_oldest(const engine::Engine& engine, const RequestDriver&) {
  if (oldest_ == 0 || scenario_.executor.depth > 1) return;
  for (const sched::Sequence* sequence : engine.scheduler().waiting()) {
    if (sequence->id == oldest_) verdict_.fail("F3", request_of(*sequence), "preempted although it was the oldest");
  }
}

// No sequence joins a batch that has begun.
void Invariants::check_batch(const engine::Engine& engine) {
  if (scenario_.engine.scheduling.batching == sched::BatchingMode::kContinuous || !stayed_) return;
  for (const sched::Sequence* sequence : engine.scheduler().running()) {
    if (!ran_.contains(sequence->id)) verdict_.fail("P2", request_of(*sequence), "joined a batch that had begun");
  }
}

// Slow readers are all that is left of the batch that runs; or the next one is not full, and its time has not come.
bool Invariants::batch_is_held(const engine::Engine& engine, TimePoint now) const {
  const sched::Config& config = scenario_.engine.scheduling;
  if (config.batching == sched::BatchingMode::kContinuous) return false;
  if (!engine.scheduler().running().empty()) return true;
  const auto begins = engine.scheduler().next_change();
  const std::int64_t full = std::min(config.max_sequences, config.max_batched_tokens);
  return begins && now < *begins && static_cast<std::int64_t>(engine.scheduler().waiting().size()) < full;
}

void Invariants::check_progress(const engine::Engine& engine, const RequestDriver& desk, const AdapterShelf& adapters,
                                TimePoint now, bool anything_came) {
  if (!engine.stalled() || anything_came) {
    idle_rounds_ = 0;
    return;
  }
  if (engine.idle() == desk.book().any_live(place_)) {
    verdict_.fail("Q1", 0, "the engine says it is {}, {} requests are owed", engine.idle() ? "idle" : "busy",
                  desk.book().live().size());
  }
  const bool reads = adapters.busy();
  const auto able = [&](const sched::Sequence* sequence) {
    return !sequence->paused && !(sequence->adapters_missing && reads);
  };
  const auto waiting = engine.scheduler().waiting(), running = engine.scheduler().running();
  const bool somebody = std::ranges::any_of(waiting, able) || std::ranges::any_of(running, able);
  const bool held = std::ranges::none_of(running, able) && batch_is_held(engine, now);
  if (!somebody || held) {
    idle_rounds_ = 0;
  } else if (++idle_rounds_ > kMaxIdleRounds) {
    const auto& all = std::ranges::any_of(running, able) ? running : waiting;
    const sched::Sequence& s = **std::ranges::find_if(all, able);
    verdict_.fail(
        "P1", request_of(s),
        "{} wait and {} run, and nothing is computed; this one has {} of {} tokens scheduled, {} pages and {} "
        "swapped out, {} pages are available",
        waiting.size(), running.size(), s.scheduled, s.length(), s.blocks.blocks().size(),
        s.swapped ? s.swapped->pages() : 0, engine.cache().available());
  }
}

}  // namespace millrace::simulator
