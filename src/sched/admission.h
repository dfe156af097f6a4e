#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::sched {

// KV memory that a running or joining sequence is expected to hold, in tokens.
struct PeakDemand {
  // Tokens of the pages that it has now or will have once its prompt is computed, whichever is more.
  std::int64_t held = 0;
  std::int64_t remaining = 0;  // tokens beyond `held` that it is expected to add
};

// The highest number of tokens that the sequences will hold together, if each grows by one token a step and leaves when
// it has added `remaining` (LightLLM's formula; arXiv:2507.10150). With demands sorted by `remaining`, descending, it
// is the maximum over i of remaining_i * (i + 1) + held_0 + ... + held_i. Sorts `demands` in place; O(n log n).
std::int64_t predicted_peak(std::span<PeakDemand> demands) noexcept;

// predicted_peak() of a set of sequences that grows. assign() is O(n log n); peak_with(), which computes the peak that
// the set would have with one sequence more, and add() are O(n).
class PeakEstimate {
 public:
  void assign(std::span<const PeakDemand> demands);
  std::int64_t peak_with(const PeakDemand& demand) const noexcept;
  void add(const PeakDemand& demand);

 private:
  std::vector<PeakDemand> sorted_;  // by what remains, descending
};

}  // namespace millrace::sched
