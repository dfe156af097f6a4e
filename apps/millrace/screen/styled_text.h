#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace millrace::screen {

// How a character is shown: a set of attributes, combined with |.
using Style = std::uint8_t;
inline constexpr Style kPlain = 0;
inline constexpr Style kBold = 1, kDim = 2, kItalic = 4, kUnderline = 8, kStrike = 16, kCode = 32;

struct StyledChar {
  char32_t value = 0;
  Style style = kPlain;
  bool operator==(const StyledChar&) const = default;
};
using StyledText = std::vector<StyledChar>;

// Appends valid UTF-8 text in one style.
void append(StyledText& to, std::string_view text, Style style = kPlain);

// Columns that a character takes on a terminal: 0 (combining), 1 or 2. A control character takes the columns of its
// escaped form, "\x1b".
int width_of(char32_t character);
int width_of(const StyledText& text);

}  // namespace millrace::screen
