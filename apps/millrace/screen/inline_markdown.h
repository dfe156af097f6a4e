#pragma once

#include <string_view>
#include <vector>

#include "screen/styled_text.h"

namespace millrace::screen {

// One line of Markdown without its block markers, rendered: emphasis, code, links. Parsed by md4c.
struct InlineText {
  StyledText text;
  // The first so many characters stay as they are whatever text follows on the line: no marker before them can still
  // find its other half.
  std::size_t stable = 0;
};
InlineText render_inline(std::string_view line, Style base);

// Cells of the rows of a Markdown table, the head first; empty if the text is no table.
std::vector<std::vector<StyledText>> render_table(std::string_view text);

}  // namespace millrace::screen
