#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace::sched {

// What a running or joining sequence is expected to hold.
struct PeakDemand {
  std::int64_t held = 0;       // tokens it has pages for when its prompt is computed, or now if that is more
  std::int64_t remaining = 0;  // tokens it is expected to add
};

// The most tokens that sequences growing one token a step will hold together before the one with the least left to do
// ends, then the next ... (LightLLM's formula; arXiv:2507.10150): sorted by what remains, descending,
// max over i of remaining_i * (i + 1) + sum of held_0..held_i. Sorts in place; O(n log n).
std::int64_t predicted_peak(std::span<PeakDemand> demands) noexcept;

// The same for a set that grows: asking what one more would make of it is O(n).
class PeakEstimate {
 public:
  void assign(std::span<const PeakDemand> demands);
  std::int64_t peak_with(const PeakDemand& demand) const noexcept;
  void add(const PeakDemand& demand);

 private:
  std::vector<PeakDemand> sorted_;  // by what remains, descending
};

}  // namespace millrace::sched
