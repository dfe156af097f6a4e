#pragma once

#include <cstdint>
#include <vector>

#include "engine/load/model_window.h"
#include "engine/load/needle_prompt.h"
#include "text/tokenizer.h"

namespace millrace::engine::load {

// Which numbers are hidden where, and how a model is asked.
struct NeedleLoad {
  NeedleEncoder encode;
  const text::Tokenizer& tokenizer;  // of the answers
  std::vector<int> depths;           // percent of the filler before the needle
  std::int64_t trials = 4;           // numbers at each depth
  std::uint64_t seed = 0;
  std::int64_t chunk = 256;  // tokens computed in a step; changes only the speed
};

// Asks for each number in a context of `length` tokens, the answer's included; answers are greedy. Returns by depth and
// trial whether the number was found. The prompt's beginning that the one before had, too, is not computed again.
// Throws LoadError: kInvalidArgument as needle_prompt(), kResourceExhausted if memory for the context is short.
std::vector<std::vector<bool>> find_needles(const ScoredModel& scored, const NeedleLoad& load, std::int64_t length);

}  // namespace millrace::engine::load
