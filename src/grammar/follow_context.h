#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "grammar/transition_network.h"

namespace millrace::grammar {

// Describes what may follow on states of a network, so that equal continuations in different networks have equal
// descriptions.
class FollowContext {
 public:
  // The description of a state and of the states to continue in after its rule (`chain`, the innermost first), as far
  // as `most` bytes reach. O(edges within reach). Valid until the next call.
  std::span<const std::int32_t> describe(const TransitionNetwork& network, std::span<const std::int32_t> chain,
                                         std::size_t most);

 private:
  std::int32_t number(std::int32_t state, std::vector<std::int32_t>& list);

  std::vector<std::int32_t> key_;
  std::vector<std::pair<std::uint32_t, std::int32_t>> numbers_;  // [state]: of which call, and its number in it
  std::vector<std::int32_t> near_, far_;                         // found at a distance, and one byte further
  std::uint32_t call_ = 0;
  std::int32_t found_ = 0;
};

}  // namespace millrace::grammar
