#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "screen/block_marker.h"
#include "screen/look.h"
#include "screen/word_wrap.h"

namespace millrace::screen {

// Shows Markdown on a terminal as it arrives, word by word: headings, lists, quotes, code, tables, and spans of a line.
// What has been written is never written again: text waits while what follows could change its looks, at most to the
// end of its line (a table: to its own end). Without styles the source is shown, wrapped. The line breaks are the
// source's. One thread.
class MarkdownStream {
 public:
  // `out` must outlive it.
  MarkdownStream(WordWrap& out, Look look) : out_(out), look_(std::move(look)) {}

  void push(std::string_view text);  // whole characters of valid UTF-8
  void finish();                     // writes what waits; no '\n' is added

 private:
  void show_line(bool complete);
  void end_line();
  void show_code_line();
  void begin(const BlockMarker& marker);
  void begin_source(const BlockMarker& marker);
  void show_fence();
  void show_rule();
  void show_table();
  void show_content(bool complete);

  WordWrap& out_;
  const Look look_;
  std::string line_;                   // the present one, so far
  std::optional<BlockMarker> marker_;  // of line_, once it is known
  Style base_ = kPlain;                // of the text of line_
  std::size_t content_ = 0;            // where the text of line_ begins
  std::size_t shown_ = 0;              // characters of that text that were written
  std::string fence_;                  // what ends the code that line_ is in; empty: it is in none
  std::size_t fence_indent_ = 0;
  std::string table_;  // rows that wait
};

}  // namespace millrace::screen
