#include "unicode/code_points.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "unicode/ranges.gen.h"

namespace millrace::unicode {
namespace {

constexpr std::uint8_t search_classes(char32_t code_point) {
  const UnicodeRange* begin = std::begin(kUnicodeRanges);
  const UnicodeRange* end = std::end(kUnicodeRanges);
  while (begin < end) {
    const UnicodeRange* middle = begin + (end - begin) / 2;
    if (code_point > middle->last) {
      begin = middle + 1;
    } else if (code_point < middle->first) {
      end = middle;
    } else {
      return middle->classes;
    }
  }
  return 0;
}

// Below U+0800 (one- and two-byte characters) a table, above a search over about 1,400 ranges.
constexpr std::size_t kTableSize = 0x800;
constexpr std::array<std::uint8_t, kTableSize> kClassTable = [] {
  std::array<std::uint8_t, kTableSize> table{};
  for (std::size_t c = 0; c < kTableSize; ++c) table[c] = search_classes(static_cast<char32_t>(c));
  return table;
}();

bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

std::size_t ascii_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at + 8 <= text.size()) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof word);
    if (word & 0x8080808080808080u) break;
    at += 8;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

// Bytes of the longest valid prefix of `text`.
std::size_t valid_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    at += ascii_prefix(text.substr(at));
    if (at == text.size()) break;
    const Utf8Unit unit = next_utf8_unit(text.substr(at));
    if (unit.kind != Utf8Unit::Kind::kCharacter) break;
    at += unit.size;
  }
  return at;
}

}  // namespace

std::uint8_t unicode_classes(char32_t code_point) noexcept {
  return code_point < kTableSize ? kClassTable[code_point] : search_classes(code_point);
}

CodePoint code_point_at(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

std::size_t previous_start(std::string_view text, std::size_t end) noexcept {
  std::size_t at = end - 1;
  while (at > 0 && is_continuation(static_cast<unsigned char>(text[at]))) --at;
  return at;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

Utf8Unit next_utf8_unit(std::string_view text) noexcept {
  using Kind = Utf8Unit::Kind;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {Kind::kCharacter, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Kind::kInvalid, 1};
  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Table 3-7 of the Unicode Standard: only the second byte's range depends on the lead.
  unsigned char low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  for (std::size_t i = 1; i < size; ++i) {
    if (i == text.size()) return {Kind::kIncomplete, i};
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < low || byte > high) return {Kind::kInvalid, i};
    low = 0x80, high = 0xBF;
  }
  return {Kind::kCharacter, size};
}

bool is_valid_utf8(std::string_view text) noexcept { return valid_prefix(text) == text.size(); }

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t valid = valid_prefix(text);
    out.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) break;
    out.append(kReplacementCharacter);
    text.remove_prefix(next_utf8_unit(text).size);
  }
  return out;
}

}  // namespace millrace::unicode
