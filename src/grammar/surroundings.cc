#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "grammar/compiled_grammar.h"

namespace millrace::grammar {
namespace {

constexpr std::int32_t kBeyond = -1;  // further than a token reaches

// States numbered in the order in which they are found, the nearest first.
class Finder {
 public:
  Finder(const TransitionNetwork& network, std::size_t most) : network_(network), most_(most) {}

  std::int32_t number(std::int32_t state, std::size_t distance, bool nearest) {
    if (distance > most_) return kBeyond;
    const auto [known, is_new] = numbers_.try_emplace(state, static_cast<std::int32_t>(numbers_.size()));
    if (!is_new) return known->second;
    if (nearest) {
      open_.emplace_front(state, distance);
    } else {
      open_.emplace_back(state, distance);
    }
    return known->second;
  }

  void describe_all(Vocabulary::Key& key) {
    while (!open_.empty()) {
      const auto [state, distance] = open_.front();
      open_.pop_front();
      const auto bytes = network_.bytes_of(state);
      const auto calls = network_.calls_of(state);
      key.push_back(network_.state(state).final ? 1 : 0);
      key.push_back(static_cast<std::int32_t>(bytes.size()));
      for (const auto& edge : bytes) {
        key.push_back(edge.first << 8 | edge.last);
        key.push_back(number(edge.target, distance + 1, false));
      }
      for (const auto& edge : calls) {
        key.push_back(number(edge.target, distance + 1, false));
        key.push_back(number(network_.rule(edge.rule).start, distance, true));
      }
      key.push_back(-2);
    }
  }

 private:
  const TransitionNetwork& network_;
  const std::size_t most_;
  std::unordered_map<std::int32_t, std::int32_t> numbers_;
  std::deque<std::pair<std::int32_t, std::size_t>> open_;
};

}  // namespace

Vocabulary::Key surroundings(const TransitionNetwork& network, std::span<const std::int32_t> chain, std::size_t most) {
  Vocabulary::Key key;
  Finder finder(network, most);
  for (const std::int32_t state : chain) key.push_back(finder.number(state, 0, false));
  key.push_back(-2);
  finder.describe_all(key);
  return key;
}

}  // namespace millrace::grammar
