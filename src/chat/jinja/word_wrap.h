#pragma once

#include "chat/jinja/value.h"

namespace millrace::chat::jinja {

struct WrapStyle {
  std::int64_t width;
  bool break_long_words;
  bool break_on_hyphens;
};

// Breaks one paragraph into lines of at most `width` characters, as Python's textwrap.wrap() does with its other
// options off.
std::vector<Text> word_wrap(Budget& budget, const Text& paragraph, const WrapStyle& style);

}  // namespace millrace::chat::jinja
