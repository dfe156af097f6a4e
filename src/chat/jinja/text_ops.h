#pragma once

#include <optional>

#include "chat/jinja/value.h"

namespace millrace::chat::jinja {

// Python's str operations on Text. Every character of a result keeps its trust.

enum class Side { kLeft, kRight, kBoth };
enum class Case { kUpper, kLower, kTitle, kCapitalize, kSwap, kFold };

Text substring(Budget& budget, const Text& text, std::size_t from, std::size_t to);  // byte offsets
Text concatenate(Budget& budget, const Text& a, const Text& b);
Text repeat(Budget& budget, const Text& text, std::int64_t count);
// The characters at start, start + step ... before `stop` (after it if step < 0); the indices must be clamped as by
// slice.indices().
Text slice(Budget& budget, const Text& text, std::int64_t start, std::int64_t stop, std::int64_t step);
// Removes the characters in `chars` (null: white space) at the ends.
Text strip(Budget& budget, const Text& text, const Text* chars, Side side);
Text replace(Budget& budget, const Text& text, const Text& from, const Text& to, std::int64_t limit);
Text change_case(Budget& budget, const Text& text, Case change);
Text join(Budget& budget, const Text& separator, const std::vector<Text>& parts);
// Adds `fill` up to `width` characters; `side` is where the text stands.
Text pad(Budget& budget, const Text& text, std::int64_t width, std::string_view fill, Side side);

// Replaces each tab by spaces up to the next column that is a multiple of `size`, or by nothing if `size` is not
// positive.
Text expand_tabs(Budget& budget, const Text& text, std::int64_t size);

std::vector<Value> characters(Budget& budget, const Text& text);
// Without separator, splits at runs of white space. `limit` < 0: no limit. `from_right` counts splits from the end.
std::vector<Value> split(Budget& budget, const Text& text, const Text* separator, std::int64_t limit, bool from_right);
std::vector<Value> split_lines(Budget& budget, const Text& text, bool keep_ends);

// Whether there is at least one character, and all satisfy `predicate`.
bool all_characters(Budget& budget, const Text& text, bool (*predicate)(char32_t));
// Whether there is at least one cased character, and none of the other case.
bool is_all_upper(Budget& budget, const Text& text);
bool is_all_lower(Budget& budget, const Text& text);
// Whether there is at least one cased character, with upper case exactly at the beginnings of words.
bool is_titled(Budget& budget, const Text& text);

}  // namespace millrace::chat::jinja
