#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "unicode/code_point_set.h"

namespace millrace::grammar {

// The characters of valid UTF-8.
std::u32string characters_of(std::string_view text);
std::optional<std::uint32_t> hex_digit(char32_t c);

// The characters of a text: all code points but surrogates.
const unicode::CodePointSet& all_characters();
unicode::CodePointSet one_character(char32_t c);
unicode::CodePointSet all_but(const unicode::CodePointSet& set);  // of the characters
unicode::CodePointSet not_line_end();                             // what '.' is: all but \n \r U+2028 U+2029

// \d \w \s and \D \W \S by their letter, as ECMA-262 has them: digits and words are ASCII. None for other letters.
std::optional<unicode::CodePointSet> class_escape(char32_t letter);
// What stands in the braces of \p{...}: a general category, short or long, alone or behind "gc=" or
// "General_Category="; Han, alone or behind "sc=" or "Script="; Any, ASCII, White_Space. None for others.
std::optional<unicode::CodePointSet> property(std::string_view name);
// The character of \n \t \r \f \v \a by the letter.
std::optional<char32_t> control_escape(char32_t letter);

}  // namespace millrace::grammar
