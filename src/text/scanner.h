#pragma once

#include <array>

#include "text/pre_tokenizer.h"
#include "text/unicode.h"

namespace millrace::text {

enum CharClass : std::uint8_t { kIsOther, kIsLetter, kIsNumber, kIsSpace };

constexpr CharClass ascii_char_class(int c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return kIsLetter;
  if (c >= '0' && c <= '9') return kIsNumber;
  if (c == ' ' || (c >= '\t' && c <= '\r')) return kIsSpace;
  return kIsOther;
}

inline constexpr std::array<CharClass, 128> kAsciiClass = [] {
  std::array<CharClass, 128> table{};
  for (int c = 0; c < 128; ++c) table[static_cast<std::size_t>(c)] = ascii_char_class(c);
  return table;
}();

inline CharClass class_of(char32_t code_point) {
  const std::uint8_t classes = unicode_classes(code_point);
  return classes & kLetter ? kIsLetter : classes & kNumber ? kIsNumber : classes & kSpace ? kIsSpace : kIsOther;
}

inline bool is_newline(char c) { return c == '\n' || c == '\r'; }

// One pass over the visible text: nothing at or after `end` exists.
class Scanner {
 public:
  Scanner(std::string_view text, std::size_t end) : text_(text), end_(end) {}

  struct Char {
    CharClass kind = kIsOther;
    std::size_t size = 0;  // bytes; 0 = at the end
  };
  Char at(std::size_t i) const {
    if (i >= end_) return {};
    const auto byte = static_cast<unsigned char>(text_[i]);
    if (byte < 0x80) return {kAsciiClass[byte], 1};
    const CodePoint c = code_point_at(text_, i);
    return {class_of(c.value), c.size};
  }
  char byte(std::size_t i) const { return i < end_ ? text_[i] : '\0'; }

  // The end of the run of `kind` from i on.
  std::size_t run(std::size_t i, CharClass kind) const {
    for (Char c = at(i); c.size > 0 && c.kind == kind; c = at(i)) i += c.size;
    return i;
  }

  // \s+(?!\S)|\s+ : a run of white space, less its last character when text follows.
  std::size_t spaces(std::size_t i) const {
    const std::size_t run_end = run(i, kIsSpace);
    if (run_end == end_) return run_end;
    const std::size_t last = previous_start(text_, run_end);
    return last > i ? last : run_end;
  }

  // 's 't 're 've 'm 'll 'd, after the apostrophe at i: bytes in all, 0 if none.
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
  // The end of the last newline in [begin, end), or 0.
  std::size_t after_last_newline(std::size_t begin, std::size_t end) const {
    for (; end > begin; --end) {
      if (is_newline(text_[end - 1])) return end;
    }
    return 0;
  }

 private:
  static char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

  std::string_view text_;
  std::size_t end_;
};

// A splitter from a function that finds the end of the word at `at`.
template <std::size_t (*kNextWord)(const Scanner&, std::size_t)>
class ScannerSplitter final : public WordSplitter {
 public:
  void split(std::string_view text, Word word, std::vector<Word>& out) const override {
    const Scanner scan(text, word.end);
    for (std::size_t at = word.begin; at < word.end;) {
      const std::size_t end = kNextWord(scan, at);
      out.push_back({at, end});
      at = end;
    }
  }
};

template <std::size_t (*kNextWord)(const Scanner&, std::size_t)>
std::unique_ptr<const WordSplitter> make_scanner() {
  return std::make_unique<ScannerSplitter<kNextWord>>();
}

}  // namespace millrace::text
