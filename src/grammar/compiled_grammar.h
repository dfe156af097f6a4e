#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/follow_context.h"
#include "grammar/parse_states.h"
#include "grammar/transition_network.h"
#include "grammar/vocabulary.h"

namespace millrace::grammar {

// A grammar with a vocabulary, and what has been computed so far about which tokens fit in which state.
// A mask is the union of two parts. For each open part of the grammar, the tokens that fit within it are found once and
// shared by all grammars (a JSON string is the same in all). Tokens that extend beyond such a part are few, and are
// checked one by one when the part occurs in a new follow context. The cost of a mask is a few operations on the words
// of the vocabulary if the state was seen before; else the tokens that leave its parts; and a walk over the vocabulary
// for a part that was never seen.
// One thread at a time, except for memory() and failed().
class CompiledGrammar {
 public:
  CompiledGrammar(std::shared_ptr<const TransitionNetwork> network, std::shared_ptr<Vocabulary> vocabulary,
                  std::vector<std::string> ignored = {});

  ParseStates& states() noexcept { return states_; }
  const Vocabulary& vocabulary() const noexcept { return *vocabulary_; }
  const TransitionNetwork& network() const noexcept { return *network_; }
  // Sets the bits of the tokens that fit in the state and, if `ends` and the text may end, of the ends of generation;
  // clears all others.
  void fill_mask(ParseStates::Id state, std::span<std::uint64_t> words, bool ends);

  const std::vector<std::string>& ignored() const noexcept { return ignored_; }  // see Grammar
  // The same grammar with nothing computed yet.
  std::shared_ptr<CompiledGrammar> renewed() const;
  std::size_t memory() const noexcept { return memory_.load(std::memory_order_relaxed); }  // bytes in all
  bool failed() const noexcept { return states_.failed(); }  // it takes more than kMaxBytes
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  // Limit of the work for one mask or token, in ways of ParseStates.
  static constexpr std::int64_t kMaxWork = std::int64_t{4} << 20;

 private:
  struct Mask {
    std::vector<std::shared_ptr<const LocalMask>> parts;
    std::vector<std::int32_t> others;
  };
  using Chain = std::vector<std::int32_t>;  // a state and its callers, up to a rule that is a unit

  const Mask& mask_of(ParseStates::Id state);
  void add_part(Mask& mask, const Chain& chain, std::int32_t frame);
  template <typename Visit>
  void each_chain(Chain& chain, std::int32_t frame, const Visit& visit);
  std::shared_ptr<const LocalMask> local_mask(const Chain& chain);
  std::shared_ptr<const LocalMask> make_local_mask(const Chain& chain);
  bool is_narrow(std::int32_t state) const;
  template <typename Found, typename Through>
  void walk(std::uint32_t node, ParseStates::Id state, const Found& found, const Through& through);
  void note_memory();

  std::shared_ptr<const TransitionNetwork> network_;
  std::shared_ptr<Vocabulary> vocabulary_;
  const std::vector<std::string> ignored_;
  ParseStates states_;
  std::map<Chain, std::shared_ptr<const LocalMask>> locals_;
  std::unordered_map<ParseStates::Id, Mask> masks_;
  std::size_t masks_bytes_ = 0;
  FollowContext follow_;
  std::vector<ParseStates::Id> path_;  // of a walk, by depth
  std::atomic<std::size_t> memory_ = 0;
};

}  // namespace millrace::grammar
