#include "grammar/follow_context.h"

namespace millrace::grammar {
namespace {

constexpr std::int32_t kBeyond = -1;  // further than a token reaches
constexpr std::int32_t kNext = -2;    // here begins the next state

}  // namespace

// States are numbered in the order in which they are found, the nearest first.
std::int32_t FollowContext::number(std::int32_t state, std::vector<std::int32_t>& list) {
  auto& [call, number] = numbers_[static_cast<std::size_t>(state)];
  if (call != call_) {
    call = call_;
    number = found_++;
    list.push_back(state);
  }
  return number;
}

std::span<const std::int32_t> FollowContext::describe(const TransitionNetwork& network,
                                                      std::span<const std::int32_t> chain, std::size_t most) {
  numbers_.resize(network.states.size());
  ++call_;
  found_ = 0;
  key_.clear();
  near_.clear();
  for (const std::int32_t state : chain) key_.push_back(number(state, near_));
  key_.push_back(kNext);
  for (std::size_t distance = 0; !near_.empty() && distance <= most; ++distance) {
    far_.clear();
    const bool last = distance == most;
    for (std::size_t i = 0; i < near_.size(); ++i) {  // rules called are as near as who calls them
      const std::int32_t state = near_[i];
      key_.push_back(network.state(state).final ? 1 : 0);
      for (const auto& edge : network.bytes_of(state)) {
        key_.push_back(edge.first << 8 | edge.last);
        key_.push_back(last ? kBeyond : number(edge.target, far_));
      }
      for (const auto& edge : network.calls_of(state)) {
        key_.push_back(number(network.rule(edge.rule).start, near_));
        key_.push_back(last ? kBeyond : number(edge.target, far_));
      }
      key_.push_back(kNext);
    }
    std::swap(near_, far_);
  }
  return key_;
}

}  // namespace millrace::grammar
