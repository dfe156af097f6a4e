#pragma once

#include <cstdint>
#include <vector>

namespace millrace::sched::policies {

// One value of a policy for each sequence in the scheduler, at the index Sequence::policy_slot. It grows to the highest
// number of sequences that were there at once, and does not shrink.
template <typename T>
class SequenceSlots {
 public:
  std::uint32_t take(const T& value) {
    if (free_.empty()) {
      values_.push_back(value);
      free_.reserve(values_.capacity());
      return static_cast<std::uint32_t>(values_.size() - 1);
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    values_[slot] = value;
    return slot;
  }
  void release(std::uint32_t slot) { free_.push_back(slot); }

  T& operator[](std::uint32_t slot) { return values_[slot]; }
  const T& operator[](std::uint32_t slot) const { return values_[slot]; }

 private:
  std::vector<T> values_;
  std::vector<std::uint32_t> free_;
};

}  // namespace millrace::sched::policies
