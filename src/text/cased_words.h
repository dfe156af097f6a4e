#pragma once

#include "text/scanner.h"

namespace millrace::text {

// llama3 and qwen2 differ in how many digits make a word.
template <int kMaxDigits>
std::size_t cased_word(const Scanner& scan, std::size_t at) {
  const char lead = scan.byte(at);
  if (lead == '\'') {
    if (const std::size_t size = scan.contraction(at, true)) return at + size;
  }
  const Scanner::Char first = scan.at(at);
  if (first.kind == kIsLetter) return scan.run(at, kIsLetter);
  if (first.kind == kIsNumber) {
    std::size_t end = at + first.size;
    for (int n = 1; n < kMaxDigits && scan.at(end).kind == kIsNumber; ++n) end += scan.at(end).size;
    return end;
  }
  const std::size_t after = at + first.size;
  const Scanner::Char second = scan.at(after);
  if (!is_newline(lead) && second.kind == kIsLetter) return scan.run(after, kIsLetter);
  if (first.kind == kIsOther) return scan.newlines(scan.run(at, kIsOther));
  if (lead == ' ' && second.size > 0 && second.kind == kIsOther) return scan.newlines(scan.run(after, kIsOther));
  const std::size_t line_end = scan.after_last_newline(at, scan.run(at, kIsSpace));
  return line_end > 0 ? line_end : scan.spaces(at);
}

}  // namespace millrace::text
