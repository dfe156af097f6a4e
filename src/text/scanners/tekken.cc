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

KnownExpression tekken() {
  return {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
          R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
          R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
          make_scanner<match>};
}

}  // namespace millrace::text::scanners
