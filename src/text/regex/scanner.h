#pragma once

#include <array>

#include "text/pre_tokenizer.h"
#include "unicode/category.h"
#include "unicode/code_points.h"

namespace millrace::text {

// Kinds of characters for scanners: one bit of a CategorySet. White space has a bit of its own instead of its
// category's.
inline constexpr unicode::CategorySet kWhite = 1u << 31;
inline constexpr unicode::CategorySet kLettersNumbersWhite = unicode::kLetters | unicode::kNumbers | kWhite;

constexpr unicode::CategorySet ascii_kind(int c) {
  if (c == ' ' || (c >= '\t' && c <= '\r')) return kWhite;
  if (c >= 'a' && c <= 'z') return 1u << unicode::kLl;
  if (c >= 'A' && c <= 'Z') return 1u << unicode::kLu;
  if (c >= '0' && c <= '9') return 1u << unicode::kNd;
  if (c < 0x20 || c == 0x7F) return 1u << unicode::kCc;
  if (c == '$') return 1u << unicode::kSc;
  if (c == '+' || c == '<' || c == '=' || c == '>' || c == '|' || c == '~') return 1u << unicode::kSm;
  if (c == '^' || c == '`') return 1u << unicode::kSk;
  return 1u << unicode::kPo;  // or another punctuation: no scanner tells them apart
}

inline constexpr std::array<unicode::CategorySet, 128> kAsciiKinds = [] {
  std::array<unicode::CategorySet, 128> table{};
  for (int c = 0; c < 128; ++c) table[static_cast<std::size_t>(c)] = ascii_kind(c);
  return table;
}();

inline bool is_newline(char c) { return c == '\n' || c == '\r'; }

// Reads a text that ends at `end`; later text is invisible.
class Scanner {
 public:
  Scanner(std::string_view text, std::size_t end) : text_(text), end_(end) {}

  struct Char {
    unicode::CategorySet kind = 0;
    std::size_t size = 0;  // bytes; 0 = at the end
    bool is(unicode::CategorySet set) const { return (kind & set) != 0; }
  };
  Char at(std::size_t i) const {
    if (i >= end_) return {};
    const auto byte = static_cast<unsigned char>(text_[i]);
    if (byte < 0x80) return {kAsciiKinds[byte], 1};
    const unicode::CodePoint c = unicode::code_point_at(text_, i);
    const unicode::CategorySet kind = 1u << unicode::category_of(c.value);
    return {(kind & unicode::kSeparators) != 0 || c.value == 0x85 ? kWhite : kind, c.size};
  }
  char byte(std::size_t i) const { return i < end_ ? text_[i] : '\0'; }
  bool ends(std::size_t i) const { return i >= end_; }
  char32_t code_point(std::size_t i) const { return unicode::code_point_at(text_, i).value; }

  // The end of the run of characters in `set` from i on.
  std::size_t run(std::size_t i, unicode::CategorySet set) const {
    for (;;) {
      while (i < end_ && static_cast<unsigned char>(text_[i]) < 0x80) {
        if ((kAsciiKinds[static_cast<unsigned char>(text_[i])] & set) == 0) return i;
        ++i;
      }
      const Char c = at(i);
      if (!c.is(set)) return i;
      i += c.size;
    }
  }

  // \s+(?!\S)|\s+ : a run of white space, without its last character if text follows.
  std::size_t spaces(std::size_t i) const {
    const std::size_t run_end = run(i, kWhite);
    if (run_end == end_) return run_end;
    const std::size_t last = unicode::previous_start(text_, run_end);
    return last > i ? last : run_end;
  }
  // \s*[\r\n]+|\s+(?!\S)|\s+ : up to the last newline of a run of white space, if it has one.
  std::size_t lines_or_spaces(std::size_t i) const {
    const std::size_t run_end = run(i, kWhite);
    for (std::size_t end = run_end; end > i; --end) {
      if (is_newline(text_[end - 1])) return end;
    }
    return spaces(i);
  }

  // 's 't 're 've 'm 'll 'd with the apostrophe at i: its size in bytes, 0 if there is none.
  std::size_t contraction(std::size_t i, bool any_case) const {
    char first = byte(i + 1), second = byte(i + 2);
    if (any_case) {
      if (first == '\xc5' && second == '\xbf') return 3;  // U+017F, long s, folds to s
      first = to_lower(first);
      second = to_lower(second);
    }
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if ((first == 'r' || first == 'v') && second == 'e') return 3;
    return first == 'l' && second == 'l' ? 3 : 0;
  }

  std::size_t newlines(std::size_t i) const {
    while (i < end_ && is_newline(text_[i])) ++i;
    return i;
  }

 private:
  static char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

  std::string_view text_;
  std::size_t end_;
};

// A splitter made of a function that returns the end of the match that begins at `at`, or `at` if there is none. Text
// between matches forms words too.
template <std::size_t (*kMatch)(const Scanner&, std::size_t)>
class ScannerSplitter final : public WordSplitter {
 public:
  void split(std::string_view text, Word word, std::vector<Word>& out) const override {
    const Scanner scan(text, word.end);
    std::size_t done = word.begin;
    for (std::size_t at = word.begin; at < word.end;) {
      const std::size_t end = kMatch(scan, at);
      if (end == at) {
        at += scan.at(at).size;
        continue;
      }
      if (done < at) out.push_back({done, at});
      out.push_back({at, end});
      done = at = end;
    }
    if (done < word.end) out.push_back({done, word.end});
  }
};

template <std::size_t (*kMatch)(const Scanner&, std::size_t)>
std::unique_ptr<const WordSplitter> make_scanner() {
  return std::make_unique<ScannerSplitter<kMatch>>();
}

}  // namespace millrace::text
