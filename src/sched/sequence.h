#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/env.h"
#include "kv/block_table.h"
#include "kv/paged_cache.h"
#include "kv/prefix_scope.h"

namespace millrace::sched {

using SequenceId = std::uint64_t;

// Where a sequence is. Waiting ones hold pages only if a session leased them some; a swapped one's are in host memory.
enum class SequenceState { kWaiting, kRunning, kFinished };

// What scheduling needs to know of a request in flight. Sampling, text and the client's side live with their owners, by
// id.
struct Sequence {
  explicit Sequence(kv::BlockTable table) : blocks(std::move(table)) {}

  SequenceId id = 0;
  std::vector<std::int32_t> tokens;  // prompt, then answer
  // Draft tokens that may follow on `tokens` (speculation). Computed together with its last token where a step has
  // room, and kept if they prove right.
  std::vector<std::int32_t> drafts;
  // Further branches, each an alternative to `drafts` from its first token on. A step with room for all drafts computes
  // the first so many of them too, each on its own after the last token, over pages that end with the step.
  std::vector<std::vector<std::int32_t>> branches;
  std::int64_t prompt_tokens = 0;
  std::int64_t computed = 0;   // tokens whose keys and values are in the pages; <= tokens.size()
  std::int64_t max_total = 0;  // tokens it may grow to: prompt and answer
  kv::BlockTable blocks;
  std::optional<kv::SwapTicket> swapped;  // holds the `computed` tokens, which stays, while preempted by swapping
  kv::PrefixScope scope;
  kv::Retention retention;
  // How many of its tokens it need not compute itself if another has: the others' rows are wanted.
  std::int64_t shareable_tokens = std::numeric_limits<std::int64_t>::max();
  // What may be looked up of it: all but the last token, whose logits are wanted, and no more than that.
  std::span<const std::int32_t> lookup() const noexcept {
    return std::span(tokens).first(static_cast<std::size_t>(std::min(length() - 1, shareable_tokens)));
  }

  // What policies go by.
  TimePoint arrival{};
  std::optional<TimePoint> first_token, last_token;
  int priority = 0;  // lower is more urgent
  std::uint32_t tenant = 0;
  std::optional<TimePoint> deadline;                  // of the whole answer: past it the request ends
  double ttft_target_ms = 0.0, tpot_target_ms = 0.0;  // 0 = none
  std::int64_t predicted_output = 0;                  // tokens the answer is expected to have, >= 1
  std::int64_t cached_hint = 0;                       // tokens of the prompt found published when last looked

  // The scheduler's own.
  SequenceState state = SequenceState::kWaiting;
  bool paused = false;   // its reader is slow: takes part in no step, and is the first to lose its pages and its place
  bool blocked = false;  // has nothing to compute until others have: may be preempted although it is the oldest
  int in_flight = 0;     // steps launched and not committed that it takes part in
  std::int64_t scheduled = 0;  // tokens computed or being computed; == computed when in_flight == 0
  std::int32_t preemptions = 0;
  std::int32_t bypassed = 0;        // sequences that arrived later and were admitted earlier
  std::int32_t attached_pages = 0;  // of its pages, those that were published when it was admitted
  std::int32_t starved_steps = 0;   // steps in a row that left it out although it could have taken part
  std::int64_t queued_tokens = 0;   // what it counts for among the tokens that wait
  std::uint32_t policy_slot = 0;    // the policy's: where it keeps what it remembers of this sequence

  std::int64_t length() const noexcept { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t remaining() const noexcept {
    return length() - scheduled;
  }  // to compute before the next token is sampled
  std::int64_t output_tokens() const noexcept { return length() - prompt_tokens; }
  bool decoding() const noexcept { return output_tokens() > 0 && remaining() == 1; }
  // The most tokens that may be drafted: one more than those is sampled of them.
  std::int64_t max_drafts() const noexcept { return std::max<std::int64_t>(0, max_total - length() - 1); }
};

}  // namespace millrace::sched
