#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::app {

// Text for a terminal of `width` columns, one column a byte: texts of help are ASCII. `width` must be at least 20.

// The text in lines of at most `width`, broken at spaces; later lines begin with `indent` spaces. A longer word is
// broken where the line ends. Ends with a newline.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

// Each line of the text wrapped by itself. Spaces that a line begins with stay; where the first line of a command
// ("  millrace ...") is broken, it ends with a backslash, so that a shell still takes it.
std::string with_lines_wrapped(std::string_view text, std::size_t width);

struct TextRow {
  std::string name, text;
};
// Rows of a list: names, and their texts in a column beside them; below them where a name is too long for that, and
// for all rows where the width leaves texts no room.
std::string in_columns(const std::vector<TextRow>& rows, std::size_t width);

}  // namespace millrace::app
