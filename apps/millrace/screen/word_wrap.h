#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "screen/styled_text.h"

namespace millrace::screen {

// Writes styled text to a terminal as it arrives, and breaks lines between words at the terminal's width. A word is
// written when it is complete. Control characters are escaped, so no text can steer the terminal. One thread.
class WordWrap {
 public:
  using Sink = std::function<void(std::string_view)>;
  // `columns` is asked for each word: the width may change; 0 = lines are not broken. Without `styles` no escape code
  // is written.
  WordWrap(Sink sink, std::function<int()> columns, bool styles);

  void put(const StyledText& text);
  // A character; '\n' ends the line. Spaces where a line is broken are dropped.
  void put(char32_t character, Style style = kPlain);
  // What further lines of the present paragraph begin with, until the next '\n' of the text.
  void hang(StyledText prefix);
  // Lines that are too long are left to the terminal: code and tables. Ends the word.
  void set_verbatim(bool verbatim);
  // Writes the last word and ends all styles.
  void flush();
  bool at_line_start() const noexcept { return column_ == 0 && word_.empty() && spaces_.empty(); }

 private:
  int limit() const;
  void end_word();
  void break_line();
  void write(const StyledChar& one);
  void write_style(Style style);

  Sink sink_;
  std::function<int()> columns_;
  const bool styles_;
  bool verbatim_ = false;
  StyledText word_, spaces_, hang_;  // not written yet; continuation prefix
  int word_width_ = 0;
  int column_ = 0;
  Style style_ = kPlain;  // that the terminal is in
  std::string out_;       // collected for one call of the sink
};

}  // namespace millrace::screen
