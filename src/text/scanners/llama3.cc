#include "text/known_expressions.h"
#include "text/word_matches.h"

// Also of cl100k_base (GPT-4), DBRX, GLM-4 and many more.
namespace millrace::text::scanners {
namespace {

std::size_t match(const Scanner& scan, std::size_t at) {
  if (scan.byte(at) == '\'') {
    if (const std::size_t size = scan.contraction(at, true)) return at + size;
  }
  const Scanner::Char first = scan.at(at);
  if (first.is(kNumbers)) return match_digits(scan, at, 3);
  if (const std::size_t end = match_word(scan, at, kLetters); end > at) return end;
  if (const std::size_t end = match_punctuation(scan, at, kLettersNumbersWhite); end > at) return end;
  return scan.lines_or_spaces(at);
}

}  // namespace

KnownExpression llama3() { return {kLlama3Regex, make_scanner<match>}; }

}  // namespace millrace::text::scanners
