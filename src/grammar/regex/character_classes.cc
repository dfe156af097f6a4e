#include "grammar/regex/character_classes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "grammar/char_automaton.h"
#include "unicode/code_points.h"

namespace millrace::grammar {
namespace {

using unicode::CodePointSet;

constexpr auto kLongNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"Letter", "L"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"Format", "Cf"},
    {"Private_Use", "Co"},
    {"Unassigned", "Cn"},
});

bool cut_prefix(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  return true;
}

CodePointSet digits() {
  CodePointSet out;
  out.add('0', '9');
  return out;
}

CodePointSet word_characters() {
  CodePointSet out = digits();
  out.add('A', 'Z');
  out.add('a', 'z');
  out.add('_', '_');
  return out;
}

// WhiteSpace and LineTerminator of ECMA-262.
CodePointSet spaces() {
  CodePointSet out = CodePointSet::of(unicode::kSeparators);
  out.add('\t', '\r');
  out.add(0xFEFF, 0xFEFF);
  return out;
}

}  // namespace

std::u32string characters_of(std::string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) {
    const unicode::CodePoint next = unicode::code_point_at(text, at);
    out += next.value;
    at += next.size;
  }
  return out;
}

std::optional<std::uint32_t> hex_digit(char32_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

const CodePointSet& all_characters() {
  static const CodePointSet all = [] {
    CodePointSet out;
    out.add(0, kFirstSurrogate - 1);
    out.add(kLastSurrogate + 1, kLastCodePoint);
    out.ranges();  // merged now, by one thread
    return out;
  }();
  return all;
}

CodePointSet one_character(char32_t c) {
  CodePointSet out;
  out.add(c, c);
  return out.intersection(all_characters());
}

CodePointSet all_but(const CodePointSet& set) { return set.complement().intersection(all_characters()); }

CodePointSet not_line_end() {
  CodePointSet ends;
  ends.add('\n', '\n');
  ends.add('\r', '\r');
  ends.add(0x2028, 0x2029);
  return all_but(ends);
}

std::optional<CodePointSet> class_escape(char32_t letter) {
  switch (letter) {
    case 'd': return digits();
    case 'D': return all_but(digits());
    case 'w': return word_characters();
    case 'W': return all_but(word_characters());
    case 's': return spaces();
    case 'S': return all_but(spaces());
    default: return std::nullopt;
  }
}

std::optional<CodePointSet> property(std::string_view name) {
  if (cut_prefix(name, "sc=") || cut_prefix(name, "Script=")) {
    return name == "Han" ? std::optional(CodePointSet::han()) : std::nullopt;
  }
  const bool category_only = cut_prefix(name, "gc=") || cut_prefix(name, "General_Category=");
  if (!category_only) {
    if (name == "Han") return CodePointSet::han();
    if (name == "Any") return all_characters();
    if (name == "White_Space") return CodePointSet::white_space();
    if (name == "ASCII") {
      CodePointSet ascii;
      ascii.add(0, 0x7F);
      return ascii;
    }
  }
  const auto* const known = std::ranges::find(kLongNames, name, &std::pair<std::string_view, std::string_view>::first);
  if (known != kLongNames.end()) name = known->second;
  if (name == "LC" || name == "Cased_Letter") return CodePointSet::of(unicode::categories(unicode::kLu, unicode::kLt));
  const auto categories = unicode::category_set(name);
  if (!categories) return std::nullopt;
  return CodePointSet::of(*categories).intersection(all_characters());
}

std::optional<char32_t> control_escape(char32_t letter) {
  switch (letter) {
    case 'n': return U'\n';
    case 't': return U'\t';
    case 'r': return U'\r';
    case 'f': return U'\f';
    case 'v': return U'\v';
    case 'a': return U'\a';
    default: return std::nullopt;
  }
}

}  // namespace millrace::grammar
