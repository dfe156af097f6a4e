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

// State of a sequence. Waiting sequences hold pages only if a session leased some to them. The contents of a swapped
// sequence's pages are in host memory.
enum class SequenceState { kWaiting, kRunning, kFinished };

// A request in flight as the scheduler sees it. Sampling, text and the client's side belong to other folders, under the
// same id. Engine thread only.
struct Sequence {
  explicit Sequence(kv::BlockTable table) : blocks(std::move(table)) {}

  SequenceId id = 0;
  std::vector<std::int32_t> tokens;  // prompt, then answer
  // Draft tokens that may follow on `tokens` (speculation). A step computes them after the last token if its budget and
  // pages suffice; those that verification accepts are kept.
  std::vector<std::int32_t> drafts;
  // Further branches of drafts, each an alternative to `drafts` from its first token on. A step that computes all of
  // `drafts` computes the first few branches too: each by itself after the last token, on pages that are freed after
  // the step.
  std::vector<std::vector<std::int32_t>> branches;
  std::int64_t prompt_tokens = 0;
  std::int64_t computed = 0;   // tokens whose keys and values are in the pages; <= tokens.size()
  std::int64_t max_total = 0;  // limit of prompt and answer together, in tokens
  kv::BlockTable blocks;
  std::optional<kv::SwapTicket> swapped;  // while preempted by swapping: holds the first `computed` tokens
  kv::PrefixScope scope;
  kv::Retention retention;
  // How many of its first tokens may come from the prefix cache. Fewer than all where rows of logits of the others are
  // wanted.
  std::int64_t shareable_tokens = std::numeric_limits<std::int64_t>::max();
  // The tokens to look up in the prefix cache: shareable_tokens, but never the last token, whose logits are wanted.
  std::span<const std::int32_t> lookup() const noexcept {
    return std::span(tokens).first(static_cast<std::size_t>(std::min(length() - 1, shareable_tokens)));
  }

  // Inputs of policies.
  TimePoint arrival{};
  std::optional<TimePoint> first_token, last_token;
  int priority = 0;  // lower is more urgent
  std::uint32_t tenant = 0;
  std::optional<TimePoint> deadline;                  // for the whole answer: then the request ends
  double ttft_target_ms = 0.0, tpot_target_ms = 0.0;  // milliseconds; 0 = none
  std::int64_t predicted_output = 0;                  // tokens the answer is expected to have, >= 1
  std::int64_t cached_hint = 0;  // prompt tokens that the prefix cache had when it was last looked up

  // State that the scheduler keeps.
  SequenceState state = SequenceState::kWaiting;
  bool paused = false;  // its reader is slow: takes part in no step, and is the first to lose its pages and slot
  // Has nothing to compute until other sequences have computed: may be preempted even if it is the oldest.
  bool blocked = false;
  // Its adapters may leave memory, or are not there yet: it waits for them, and holds back no other.
  bool adapters_missing = false;
  int in_flight = 0;           // steps that it takes part in and that are launched but not committed
  std::int64_t scheduled = 0;  // tokens computed or being computed; == computed when in_flight == 0
  // Tokens after `tokens` that launched steps sample, and that further steps may go on from before they are known here
  // (StepRow::feeds); 0 when in_flight == 0.
  std::int64_t unseen = 0;
  std::int32_t preemptions = 0;
  std::int32_t bypassed = 0;        // times that a sequence that arrived later was admitted earlier
  std::int32_t attached_pages = 0;  // pages that were published when it was admitted
  std::int32_t starved_steps = 0;   // steps in a row that left it out although it could have taken part
  std::int64_t queued_tokens = 0;   // tokens that it adds to the scheduler's waiting_tokens()
  std::uint32_t policy_slot = 0;    // index of the policy's state of this sequence; set by SchedulePolicy::arrived()

  std::int64_t length() const noexcept { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t planned_length() const noexcept { return length() + unseen; }
  // Tokens to compute before the next one is sampled. The last token of max_total is not computed.
  std::int64_t remaining() const noexcept {
    const bool last_sampled = unseen > 0 && planned_length() == max_total;
    return planned_length() - scheduled - (last_sampled ? 1 : 0);
  }
  std::int64_t output_tokens() const noexcept { return length() - prompt_tokens; }
  bool decoding() const noexcept { return planned_length() > prompt_tokens && remaining() == 1; }
  // Limit of draft tokens: verification samples one token more than it accepts, and the total stays within max_total.
  std::int64_t max_drafts() const noexcept { return std::max<std::int64_t>(0, max_total - length() - 1); }
};

}  // namespace millrace::sched
