#pragma once

#include "text/regex/scanner.h"

// Matches that the expressions of several model families share. Each comment shows the alternatives that the function
// implements.
namespace millrace::text {

// \p{N}{1,max}: `at` is a number.
inline std::size_t match_digits(const Scanner& scan, std::size_t at, int max) {
  std::size_t end = at;
  for (Scanner::Char c = scan.at(end); max > 0 && c.is(unicode::kNumbers); c = scan.at(end), --max) end += c.size;
  return end;
}

// [^\r\n\p{L}\p{N}]?[set]+ , where `set` holds kLetters; `at` if it does not match.
inline std::size_t match_word(const Scanner& scan, std::size_t at, unicode::CategorySet set) {
  const Scanner::Char first = scan.at(at);
  if (!first.is(unicode::kLetters | unicode::kNumbers) && !is_newline(scan.byte(at)) &&
      scan.at(at + first.size).is(set)) {
    return scan.run(at + first.size, set);
  }
  return scan.run(at, set);
}

// ?[^\s\p{L}\p{N}]+[\r\n]* with `not_these` instead of the three; `at` if it does not match.
inline std::size_t match_punctuation(const Scanner& scan, std::size_t at, unicode::CategorySet not_these) {
  const std::size_t body = at + (scan.byte(at) == ' ' ? 1 : 0);
  const std::size_t end = scan.run(body, ~not_these);
  return end > body ? scan.newlines(end) : at;
}

// Words that change from capital to small letters at most once, as in o200k and tekken:
// [^\r\n\p{L}\p{N}]?[U]*[L]+|[^\r\n\p{L}\p{N}]?[U]+[L]* with U = Lu Lt Lm Lo M and L = Ll Lm Lo M; `at` if neither
// matches.
inline std::size_t match_capitalized(const Scanner& scan, std::size_t at) {
  constexpr unicode::CategorySet kBoth = 1u << unicode::kLm | 1u << unicode::kLo | unicode::kMarks;
  constexpr unicode::CategorySet kUpper = 1u << unicode::kLu | 1u << unicode::kLt | kBoth,
                                 kLower = 1u << unicode::kLl | kBoth;
  struct Run {
    std::size_t end;   // of [U]*
    std::size_t last;  // after its last character that is in L too, or 0
  };
  const auto upper_run = [&](std::size_t from) {
    Run out{from, 0};
    for (Scanner::Char c = scan.at(from); c.is(kUpper); c = scan.at(out.end)) {
      out.end += c.size;
      if (c.is(kBoth)) out.last = out.end;
    }
    return out;
  };
  const Scanner::Char first = scan.at(at);
  const bool has_prefix =
      !first.is(unicode::kLetters | unicode::kNumbers) && !is_newline(scan.byte(at)) && first.size > 0;
  const std::size_t starts[2] = {has_prefix ? at + first.size : at, at};
  const int n = has_prefix && first.is(unicode::kMarks) ? 2 : 1;
  Run runs[2];
  for (int i = 0; i < n; ++i) {  // [U]*[L]+
    runs[i] = upper_run(starts[i]);
    if (scan.at(runs[i].end).is(kLower)) return scan.run(runs[i].end, kLower);
    if (runs[i].last > 0) return runs[i].last;
  }
  for (int i = 0; i < n; ++i) {  // [U]+[L]*
    if (runs[i].end > starts[i]) return runs[i].end;
  }
  return at;
}

// The expression that Llama 3, Qwen 2 and others share:
// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[W]+|\p{N}{1,D}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// with W = kWordSet, which the punctuation excludes too, and D = kMaxDigits.
template <int kMaxDigits, unicode::CategorySet kWordSet>
std::size_t match_llama3_like(const Scanner& scan, std::size_t at) {
  if (scan.byte(at) == '\'') {
    if (const std::size_t size = scan.contraction(at, true)) return at + size;
  }
  if (scan.at(at).is(unicode::kNumbers)) return match_digits(scan, at, kMaxDigits);
  if (const std::size_t end = match_word(scan, at, kWordSet); end > at) return end;
  if (const std::size_t end = match_punctuation(scan, at, kLettersNumbersWhite | kWordSet); end > at) return end;
  return scan.lines_or_spaces(at);
}

// The expression that o200k and Tekken share: capitalized words, with contractions at their ends if kContractions,
// \p{N}{1,kMaxDigits}, and punctuation with the newlines and slashes after it.
template <int kMaxDigits, bool kContractions>
std::size_t match_o200k_like(const Scanner& scan, std::size_t at) {
  if (scan.at(at).is(unicode::kNumbers)) return match_digits(scan, at, kMaxDigits);
  if (const std::size_t end = match_capitalized(scan, at); end > at) {
    return kContractions && scan.byte(end) == '\'' ? end + scan.contraction(end, true) : end;
  }
  if (std::size_t end = match_punctuation(scan, at, kLettersNumbersWhite); end > at) {
    while (is_newline(scan.byte(end)) || scan.byte(end) == '/') ++end;
    return end;
  }
  return scan.lines_or_spaces(at);
}

}  // namespace millrace::text
