#include "text/known_expressions.h"
#include "text/word_matches.h"

// Qwen 3.5: qwen2's, with marks as parts of words.
namespace millrace::text::scanners {
namespace {

std::size_t match(const Scanner& scan, std::size_t at) {
  if (scan.byte(at) == '\'') {
    if (const std::size_t size = scan.contraction(at, true)) return at + size;
  }
  const Scanner::Char first = scan.at(at);
  if (first.is(kNumbers)) {
    return at + first.size;
  }
  if (const std::size_t end = match_word(scan, at, kLetters | kMarks); end > at) return end;
  if (const std::size_t end = match_punctuation(scan, at, kLettersNumbersWhite | kMarks); end > at) return end;
  return scan.lines_or_spaces(at);
}

}  // namespace

KnownExpression qwen35() { return {kQwen35Regex, make_scanner<match>}; }

}  // namespace millrace::text::scanners
