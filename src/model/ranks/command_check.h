#pragma once

#include <cstdint>
#include <string_view>

#include "model/ranks/rank_commands.h"

namespace millrace::model {

// What a rank can do of what a command may say. Commands come from another process, over MPI even from another host, so
// nothing in them is believed. All throw LoadError (kBadFile) naming the field, its value and the limit.

[[noreturn]] void refuse_command(std::string_view what);

struct StepLimits {
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;  // tokens of a sequence
  std::int64_t layers = 0;
  int stages = 1;  // one has no states to answer
  // What the step's store has.
  std::int64_t block_tokens = 1, pages = 0;
  std::int64_t window_pages = 0, window = 0;  // 0: it has none
};

// Rows are those of sequences one behind the other, each of which has pages for what it sees. No step has more rows
// than the store has places for tokens, which bounds its memory.
void check_command(const RankStep& step, const StepLimits& limits);
// `stores`: how many the rank has.
void check_command(const RankStore& store, std::size_t stores);
void check_command(const RankGiveBack& command, std::int64_t pages);
void check_command(const RankAdapter& adapter);
void check_command(const RankAdapterAhead& adapter);

}  // namespace millrace::model
