#include "grammar/parse_states.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::grammar {
namespace {

constexpr std::size_t kMaxWays = 1 << 16;  // at once

std::uint64_t hash_of(std::span<const ParseStates::Way> ways, std::uint8_t mark) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u + mark;
  for (const ParseStates::Way& way : ways) {
    const std::uint64_t word =
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(way.state)) << 32 | static_cast<std::uint32_t>(way.frame);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

bool ParseStates::WaySet::insert(const Way& way) {
  if (list_.size() < kShort) {
    if (std::ranges::find(list_, way) != list_.end()) return false;
    list_.push_back(way);
    return true;
  }
  if (rest_.empty()) rest_.insert(list_.begin(), list_.end());
  return rest_.insert(way).second;
}

ParseStates::ParseStates(const TransitionNetwork& network, std::size_t max_bytes)
    : network_(network),
      max_bytes_(max_bytes),
      classes_(static_cast<std::size_t>(network.byte_classes)),
      called_(network.rules.size()) {
  begin();
  intern_state();  // kDead
}

ParseStates::Id ParseStates::start() {
  begin();
  add({network_.rule(network_.root).start, frame_of({kEnd, 0})});
  call_rules();
  return intern_state();
}

ParseStates::Id ParseStates::outside(std::int32_t state, std::span<const std::int32_t> callers) {
  std::int32_t frame = frame_of({kOutside, 0});
  for (std::size_t i = callers.size(); i-- > 0;) frame = frame_of({callers[i], frame});
  begin();
  reading_.push_back({state, frame});  // what it calls are ways of their own, its end was seen before
  return intern_state();
}

ParseStates::Id ParseStates::after(std::int32_t frame) {
  begin();
  complete(frame);
  call_rules();
  return intern_state();
}

ParseStates::Id ParseStates::find_step(Id state, std::uint8_t byte) {
  allowed_ -= 1 + std::ssize(ways(state));
  if (allowed_ < 0) failed_ = true;
  if (failed_) return kDead;
  std::int32_t& row = rows_of_[static_cast<std::size_t>(state)];
  if (row < 0) {
    row = static_cast<std::int32_t>(rows_.size() / classes_);
    rows_.resize(rows_.size() + classes_, kUnknown);
    bytes_ += classes_ * sizeof(Id);
  }
  const std::size_t place = static_cast<std::size_t>(row) * classes_ + network_.byte_class[byte];
  begin();
  for (std::size_t i = 0; i < ways(state).size(); ++i) {
    const Way way = ways(state)[i];
    for (const auto& edge : network_.bytes_of(way.state)) {
      if (edge.first <= byte && byte <= edge.last) add({edge.target, way.frame});
    }
  }
  call_rules();
  const Id next = intern_state();
  rows_[place] = next;
  return next;
}

void ParseStates::begin() {
  reading_.clear();
  todo_.clear();
  added_.clear();
  mark_ = 0;
}

void ParseStates::add(Way way) {
  if (!added_.insert(way)) return;
  const TransitionNetwork::State& state = network_.state(way.state);
  if (!state.tail) todo_.push_back(way);
  if (state.final) complete(way.frame);
}

void ParseStates::complete(std::int32_t frame) {
  if (!added_.insert({kEnd, frame})) return;
  const std::size_t size = this->frame(frame).size();
  for (std::size_t i = 0; i < size; ++i) {
    const Way way = this->frame(frame)[i];
    if (way.state == kEnd) {
      mark_ |= kMayEnd;
    } else if (way.state == kOutside) {
      mark_ |= kMayLeave;
    } else {
      add(way);
    }
  }
}

// Rules are called in the order of their ranks: once one's turn has come, all that call it are known.
void ParseStates::call_rules() {
  ranks_.clear();
  for (std::size_t i = 0; i < todo_.size(); ++i) call(todo_[i]);
  while (!ranks_.empty()) {
    std::ranges::pop_heap(ranks_);
    const std::int32_t rule = ranks_.back().second;
    ranks_.pop_back();
    const std::int32_t frame = intern_frame(std::exchange(called_[static_cast<std::size_t>(rule)], {}));
    call({network_.rule(rule).start, frame});
  }
}

void ParseStates::call(const Way& from) {
  if (!network_.bytes_of(from.state).empty()) reading_.push_back(from);
  for (const auto& edge : network_.calls_of(from.state)) {
    std::vector<Way>& behind = called_[static_cast<std::size_t>(edge.rule)];
    if (behind.empty()) {
      ranks_.emplace_back(-network_.rule(edge.rule).rank, edge.rule);
      std::ranges::push_heap(ranks_);
    }
    if (network_.state(edge.target).tail) {
      const auto passed_on = frame(from.frame);
      behind.insert(behind.end(), passed_on.begin(), passed_on.end());
    } else {
      behind.push_back({edge.target, from.frame});
    }
  }
}

std::int32_t ParseStates::intern(Index& index, std::vector<Set>& sets, std::span<const Way> ways, std::uint8_t mark) {
  const std::uint64_t hash = hash_of(ways, mark);
  const auto [first, last] = index.by_hash.equal_range(hash);
  for (auto i = first; i != last; ++i) {
    const auto id = static_cast<std::size_t>(i->second);
    if (std::ranges::equal(set(sets[id]), ways) && (&sets != &sets_ || ends_[id] == mark)) return i->second;
  }
  const auto id = static_cast<std::int32_t>(sets.size());
  sets.push_back({static_cast<std::uint32_t>(ways_.size()), static_cast<std::uint32_t>(ways.size())});
  ways_.insert(ways_.end(), ways.begin(), ways.end());
  index.by_hash.emplace(hash, id);
  bytes_ += ways.size_bytes() + sizeof(Set) + 64;
  if (&sets == &sets_) {
    ends_.push_back(mark);
    rows_of_.push_back(-1);
  }
  if (bytes_ > max_bytes_) failed_ = true;
  return id;
}

std::int32_t ParseStates::intern_frame(std::vector<Way> ways) {
  std::ranges::sort(ways);
  ways.erase(std::ranges::unique(ways).begin(), ways.end());
  return intern(frame_index_, frames_, ways, 0);
}

ParseStates::Id ParseStates::intern_state() {
  if (reading_.size() > kMaxWays) failed_ = true;
  if (failed_ && !sets_.empty()) return kDead;
  std::ranges::sort(reading_);
  reading_.erase(std::ranges::unique(reading_).begin(), reading_.end());
  return intern(state_index_, sets_, reading_, mark_);
}

}  // namespace millrace::grammar
