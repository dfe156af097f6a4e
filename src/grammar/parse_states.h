#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/transition_network.h"

namespace millrace::grammar {

// The states that texts reach in a network, made when they are first reached: a deterministic automaton over bytes,
// which may be infinite if rules are recursive. A state is the set of all ways through the network that fit the text so
// far. A way is a state of a rule and a frame: where to continue after the rule. Ways that call the same rule at the
// same place share a frame, and a call at a rule's end passes its frame on, so that all stacks form one graph (Tomita,
// IJCAI 1985). Equal sets and frames are one object, so that repeated steps are found again.
// One thread. A known step costs two loads; a new one costs its number of ways.
class ParseStates {
 public:
  using Id = std::int32_t;
  static constexpr Id kDead = 0;                           // nothing fits
  static constexpr std::int32_t kEnd = -1, kOutside = -2;  // states of a way: the text is complete; see outside()

  struct Way {
    std::int32_t state, frame;
    bool operator==(const Way&) const = default;
    auto operator<=>(const Way&) const = default;
  };

  // If states and frames take more than `max_bytes`, or more work than the last allow(), it has failed(): every new
  // step leads to kDead.
  ParseStates(const TransitionNetwork& network, std::size_t max_bytes);
  // Allows new steps to examine so many ways from now on.
  void allow(std::int64_t ways) noexcept { allowed_ = ways; }

  Id start();
  Id step(Id state, std::uint8_t byte) {
    const std::int32_t row = rows_of_[static_cast<std::size_t>(state)];
    if (row >= 0) {
      const Id next = rows_[static_cast<std::size_t>(row) * classes_ + network_.byte_class[byte]];
      if (next != kUnknown) return next;
    }
    return find_step(state, byte);
  }
  bool may_end(Id state) const { return ends_[static_cast<std::size_t>(state)] & kMayEnd; }
  bool may_leave(Id state) const { return ends_[static_cast<std::size_t>(state)] & kMayLeave; }
  std::span<const Way> ways(Id state) const { return set(sets_[static_cast<std::size_t>(state)]); }
  std::span<const Way> frame(std::int32_t id) const { return set(frames_[static_cast<std::size_t>(id)]); }

  // The state of a way alone, until it leaves `callers` and the rule it is then in, which may_leave() reports.
  // `callers` are states of rules to continue in, the innermost first.
  Id outside(std::int32_t state, std::span<const std::int32_t> callers);
  // Where it continues after that, with `frame`.
  Id after(std::int32_t frame);
  // A frame with this way alone.
  std::int32_t frame_of(Way way) { return intern_frame({way}); }

  bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }  // any thread
  std::size_t memory() const noexcept { return bytes_; }

 private:
  static constexpr Id kUnknown = -1;
  static constexpr std::uint8_t kMayEnd = 1, kMayLeave = 2;
  struct Set {
    std::uint32_t begin, size;
  };
  struct Index {  // of sets by content
    std::unordered_multimap<std::uint64_t, std::int32_t> by_hash;
  };

  std::span<const Way> set(Set s) const { return {ways_.data() + s.begin, s.size}; }
  std::int32_t intern(Index& index, std::vector<Set>& sets, std::span<const Way> ways, std::uint8_t mark);
  std::int32_t intern_frame(std::vector<Way> ways);
  Id intern_state();
  Id find_step(Id state, std::uint8_t byte);
  void begin();
  void add(Way way);                  // a way that has just read, or begins
  void complete(std::int32_t frame);  // its rule is through
  void call_rules();
  void call(const Way& from);

  const TransitionNetwork& network_;
  const std::size_t max_bytes_, classes_;
  std::vector<Way> ways_;  // of all sets
  std::vector<Set> frames_, sets_;
  std::vector<std::uint8_t> ends_;     // [sets]
  std::vector<std::int32_t> rows_of_;  // [sets]: a row of rows_, or -1
  std::vector<Id> rows_;               // [row][class]
  Index frame_index_, state_index_;
  std::size_t bytes_ = 0;
  std::int64_t allowed_ = 0;
  std::atomic<bool> failed_ = false;

  // Few of them most of the time.
  class WaySet {
   public:
    bool insert(const Way& way);  // false: it was there
    void clear() {
      list_.clear();
      rest_.clear();
    }

   private:
    static constexpr std::size_t kShort = 32;
    std::vector<Way> list_;
    std::set<Way> rest_;
  };

  // State of the step under way.
  std::vector<Way> reading_, todo_;
  WaySet added_;                                              // and completed frames as {kEnd, frame}
  std::vector<std::vector<Way>> called_;                      // [rule]: who goes on behind it
  std::vector<std::pair<std::int32_t, std::int32_t>> ranks_;  // heap of (-rank, rule) of rules called
  std::uint8_t mark_ = 0;
};

}  // namespace millrace::grammar
