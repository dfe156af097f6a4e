#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::chat::jinja {

// Properties of characters as in Python's str. All texts must be valid UTF-8.

// The code point at `offset`, which is moved behind it.
char32_t next_code_point(std::string_view text, std::size_t& offset);
void append_utf8(std::string& out, char32_t code_point);
// Replaces each maximal invalid part by U+FFFD, as bytes.decode(errors="replace") does.
std::string replace_invalid_utf8(std::string_view bytes);

bool is_space(char32_t c);       // str.isspace, str.strip, \s
bool is_line_break(char32_t c);  // str.splitlines
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_word(char32_t c);  // \w
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_cased(char32_t c);
bool is_printable(char32_t c);  // repr() shows it unescaped

// Append the mapped character, which may become up to three.
void append_upper(std::string& out, char32_t c);
void append_lower(std::string& out, char32_t c);
void append_title(std::string& out, char32_t c);
void append_folded(std::string& out, char32_t c);  // full case folding
// The full upper-case mapping if it has more than one character (SpecialCasing.txt), else empty.
std::string_view special_upper(char32_t c);

}  // namespace millrace::chat::jinja
