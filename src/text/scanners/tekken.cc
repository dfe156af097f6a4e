#include "text/known_expressions.h"
#include "text/word_matches.h"

// Tekken: Mistral NeMo and later.
namespace millrace::text::scanners {
namespace {

std::size_t match(const Scanner& scan, std::size_t at) {
  const Scanner::Char first = scan.at(at);
  if (first.is(kNumbers)) return at + first.size;
  if (const std::size_t end = match_capitalized(scan, at); end > at) return end;
  if (const std::size_t end = match_punctuation(scan, at, kLettersNumbersWhite); end > at) {
    std::size_t tail = end;
    while (is_newline(scan.byte(tail)) || scan.byte(tail) == '/') ++tail;
    return tail;
  }
  return scan.lines_or_spaces(at);
}

}  // namespace

KnownExpression tekken() { return {kTekkenRegex, make_scanner<match>}; }

}  // namespace millrace::text::scanners
