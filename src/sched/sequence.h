#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/env.h"
#include "kv/block_pool.h"

namespace millrace::sched {

using SequenceId = std::uint64_t;

// What scheduling needs to know of a request in flight. Sampling, text and the client's side live with their owners, by
// id.
struct Sequence {
  explicit Sequence(kv::BlockTable table) : blocks(std::move(table)) {}

  SequenceId id = 0;
  std::vector<std::int32_t> tokens;  // prompt, then answer
  std::int64_t prompt_tokens = 0;
  std::int64_t computed = 0;   // tokens whose keys and values are in the pages; <= tokens.size()
  std::int64_t max_total = 0;  // tokens it may grow to: prompt and answer
  kv::BlockTable blocks;
  TimePoint arrival{};

  std::int64_t length() const noexcept { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t remaining() const noexcept {
    return length() - computed;
  }  // to compute before the next token can be drawn
};

}  // namespace millrace::sched
