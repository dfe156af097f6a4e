#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sched/sequence.h"

namespace millrace::sched {

// Limits of a step.
struct Config {
  std::int64_t max_batched_tokens = 512;  // tokens of a step, prefill chunks and decode tokens together
  std::int64_t max_sequences = 64;        // running at once
};

// One row of a step: the next n_tokens >= 1 of a sequence. A prefill chunk and a decode token differ only in n_tokens.
struct StepRow {
  Sequence* sequence = nullptr;
  std::int64_t n_tokens = 0;
  bool samples() const noexcept { return n_tokens == sequence->remaining(); }  // its last token gets a successor
};
using StepPlan = std::vector<StepRow>;

// Continuous batching (ORCA, OSDI 22) first come first served, with chunked prefill: running sequences that decode go
// first, what is left of the token budget goes to prompts in order of arrival. A sequence is admitted when the pages
// for its greatest length are free, so a running one never lacks pages. Engine thread only.
class Scheduler {
 public:
  explicit Scheduler(const Config& config) : config_(config) {}

  void add(std::unique_ptr<Sequence> sequence);
  // Lets waiting sequences run, in order, as long as their pages are free; reserves them.
  void admit();
  // The next step's rows; empty when there is nothing to do. Changes nothing: the caller commits what it computed.
  StepPlan plan() const;
  // Removes the sequence and hands it over; null if there is none of that id.
  std::unique_ptr<Sequence> remove(SequenceId id);

  std::size_t waiting() const noexcept { return waiting_.size(); }
  std::size_t running() const noexcept { return running_.size(); }

 private:
  Config config_;
  std::deque<std::unique_ptr<Sequence>> waiting_;
  std::vector<std::unique_ptr<Sequence>> running_;  // in order of arrival
};

}  // namespace millrace::sched
