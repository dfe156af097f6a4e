#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace millrace::screen {

// What a line of Markdown is, by what it begins with.
struct BlockMarker {
  enum class Kind { kText, kBlank, kHeading, kBullet, kOrdered, kQuote, kRule, kFence, kTableRow };
  Kind kind = Kind::kText;
  std::size_t indent = 0;   // columns of white space before it
  std::size_t content = 0;  // bytes before what the line says
  int level = 0;            // of a heading: 1 to 6; of a fence: number of its characters
  std::string_view label;   // of an ordered item: "12."; of a fence: its characters
};

// The marker of the line so far; nothing: what follows decides. With `complete` the line has ended, and there is always
// a result. A fence and a blank line are only found in complete lines.
std::optional<BlockMarker> find_block_marker(std::string_view line, bool complete);

}  // namespace millrace::screen
