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

// The set of all characters: all code points but surrogates.
const unicode::CodePointSet& all_characters();
unicode::CodePointSet one_character(char32_t c);
unicode::CodePointSet all_but(const unicode::CodePointSet& set);  // the complement within all characters
unicode::CodePointSet not_line_end();                             // the set of '.': all but \n \r U+2028 U+2029

// The class of \d \w \s \D \W \S by its letter, as in ECMA-262, with digits and words in ASCII. Nothing for other
// letters.
std::optional<unicode::CodePointSet> class_escape(char32_t letter);
// The set of a name in \p{...}: a general category, short or long, alone or after "gc=" or "General_Category="; Han,
// alone or after "sc=" or "Script="; Any, ASCII, White_Space. Nothing for others.
std::optional<unicode::CodePointSet> property(std::string_view name);
// The character of \n \t \r \f \v \a by its letter; nothing for other letters.
std::optional<char32_t> control_escape(char32_t letter);

}  // namespace millrace::grammar
