#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "engine/step_input.h"

namespace millrace::engine {

// The tokens that an executor sampled in the last steps that it ran, for the steps that go on from them. An executor
// calls fill() before each step and keep() after it. One thread.
class FedTokens {
 public:
  // `depth`: of the executor; a step goes on from none older.
  explicit FedTokens(int depth) : depth_(static_cast<std::size_t>(depth)) {}

  // Writes what earlier steps sampled into `input.tokens`; 0 where nothing was sampled, as logits were no numbers or
  // the step failed: whatever comes of such a row is not used.
  void fill(StepInput& input) const {
    for (const StepInput::Fed& fed : input.fed_rows) {
      const Sampled& step = steps_.at(static_cast<std::size_t>(fed.steps_back) - 1);
      input.tokens[static_cast<std::size_t>(fed.row)] = step.at(static_cast<std::size_t>(fed.sampled)).value_or(0);
    }
  }
  // What the step after that sampled.
  void keep(std::vector<std::optional<std::int32_t>> sampled) {
    steps_.push_front(std::move(sampled));
    if (steps_.size() > depth_) steps_.pop_back();
  }

 private:
  using Sampled = std::vector<std::optional<std::int32_t>>;
  std::size_t depth_;
  std::deque<Sampled> steps_;  // the last one first
};

}  // namespace millrace::engine
