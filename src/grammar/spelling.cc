#include "grammar/spelling.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace millrace::grammar {
namespace {

using Range = unicode::CodePointSet::Range;

std::uint8_t byte(char32_t value) { return static_cast<std::uint8_t>(value); }

// The numbers [first, last] of `digits` digits with 2^bits values each, as products of ranges of digits: for each of
// them `emit` hears the lowest and the highest number, which differ in a suffix of free digits and the digit before it.
template <typename Emit>
void split(char32_t first, char32_t last, int bits, int digits, const Emit& emit) {
  for (int free = 1; free < digits; ++free) {
    const char32_t mask = (char32_t{1} << (bits * free)) - 1;
    if ((first & ~mask) == (last & ~mask)) break;  // only free digits differ
    if ((first & mask) != 0) {
      split(first, first | mask, bits, digits, emit);
      split((first | mask) + 1, last, bits, digits, emit);
      return;
    }
    if ((last & mask) != mask) {
      split(first, (last & ~mask) - 1, bits, digits, emit);
      split(last & ~mask, last, bits, digits, emit);
      return;
    }
  }
  emit(first, last);
}

void add_utf8(Range range, std::vector<ByteSets>& out) {
  static constexpr std::array<char32_t, 4> kLast = {0x7f, 0x7ff, 0xffff, 0x10ffff};
  static constexpr std::array<char32_t, 4> kLead = {0x00, 0xc0, 0xe0, 0xf0};
  char32_t begin = 0;
  for (int length = 1; length <= 4; begin = kLast[static_cast<std::size_t>(length++ - 1)] + 1) {
    const auto i = static_cast<std::size_t>(length - 1);
    const char32_t first = std::max(range.first, begin), last = std::min(range.last, kLast[i]);
    if (first > last) continue;
    if (length == 1) {
      out.push_back({{{byte(first), byte(last)}}});
      continue;
    }
    split(first, last, 6, length, [&](char32_t low, char32_t high) {
      ByteSets bytes;
      for (int k = length - 1; k >= 0; --k) {
        const char32_t a = low >> (6 * k), b = high >> (6 * k);
        if (k == length - 1) {
          bytes.push_back({{byte(kLead[i] | a), byte(kLead[i] | b)}});
        } else {
          bytes.push_back({{byte(0x80 | (a & 0x3f)), byte(0x80 | (b & 0x3f))}});
        }
      }
      out.push_back(std::move(bytes));
    });
  }
}

// A hexadecimal digit of a range in both cases.
ByteSet hex_digits(char32_t first, char32_t last) {
  ByteSet out;
  if (first <= 9) out.push_back({byte('0' + first), byte('0' + std::min<char32_t>(last, 9))});
  if (last >= 10) {
    const char32_t from = std::max<char32_t>(first, 10) - 10;
    out.push_back({byte('A' + from), byte('A' + last - 10)});
    out.push_back({byte('a' + from), byte('a' + last - 10)});
  }
  return out;
}

// \uXXXX of [first, last] after `before`, each sequence for `emit`.
template <typename Emit>
void add_escape(char32_t first, char32_t last, const ByteSets& before, const Emit& emit) {
  split(first, last, 4, 4, [&](char32_t low, char32_t high) {
    ByteSets made = before;
    made.push_back({{'\\', '\\'}});
    made.push_back({{'u', 'u'}});
    for (int k = 3; k >= 0; --k) made.push_back(hex_digits(low >> (4 * k) & 15, high >> (4 * k) & 15));
    emit(std::move(made));
  });
}

void add_pairs(Range range, std::vector<ByteSets>& out) {
  const char32_t first = std::max<char32_t>(range.first, 0x10000) - 0x10000, last = range.last - 0x10000;
  const auto add = [&](char32_t high_first, char32_t high_last, char32_t low_first, char32_t low_last) {
    add_escape(0xd800 + high_first, 0xd800 + high_last, {}, [&](const ByteSets& before) {
      add_escape(0xdc00 + low_first, 0xdc00 + low_last, before,
                 [&](ByteSets whole) { out.push_back(std::move(whole)); });
    });
  };
  split(first, last, 10, 2,
        [&](char32_t low, char32_t high) { add(low >> 10, high >> 10, low & 0x3ff, high & 0x3ff); });
}

void add_json(const unicode::CodePointSet& set, std::vector<ByteSets>& out) {
  unicode::CodePointSet raw;
  raw.add(0x20, 0x21);
  raw.add(0x23, 0x5b);
  raw.add(0x5d, 0x10ffff);
  raw = raw.intersection(set);
  for (const Range range : raw.ranges()) add_utf8(range, out);
  static constexpr std::array<std::pair<char32_t, char>, 8> kShort = {
      {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {8, 'b'}, {12, 'f'}, {10, 'n'}, {13, 'r'}, {9, 't'}}};
  for (const auto& [character, letter] : kShort) {
    const auto holds = [c = character](Range range) { return range.first <= c && c <= range.last; };
    if (std::ranges::any_of(set.ranges(), holds)) out.push_back({{{'\\', '\\'}}, {{byte(letter), byte(letter)}}});
  }
  for (const Range range : set.ranges()) {
    if (range.first <= 0xffff) {
      add_escape(range.first, std::min<char32_t>(range.last, 0xffff), {},
                 [&](ByteSets one) { out.push_back(std::move(one)); });
    }
    if (range.last >= 0x10000) add_pairs(range, out);
  }
}

}  // namespace

std::vector<ByteSets> spellings(const unicode::CodePointSet& set, Spelling spelling) {
  unicode::CodePointSet characters;
  characters.add(0, 0xd7ff);
  characters.add(0xe000, 0x10ffff);
  characters = characters.intersection(set);
  std::vector<ByteSets> out;
  if (spelling == Spelling::kJsonString) {
    add_json(characters, out);
  } else {
    for (const Range range : characters.ranges()) add_utf8(range, out);
  }
  return out;
}

}  // namespace millrace::grammar
