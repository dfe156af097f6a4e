#include "text/known_expressions.h"
#include "text/word_matches.h"

// o200k_base: GPT-4o, gpt-oss, Llama 4, Phi-4-mini.
namespace millrace::text::scanners {
namespace {

std::size_t match(const Scanner& scan, std::size_t at) {
  const Scanner::Char first = scan.at(at);
  if (first.is(kNumbers)) return match_digits(scan, at, 3);
  if (const std::size_t end = match_capitalized(scan, at); end > at) {
    return scan.byte(end) == '\'' ? end + scan.contraction(end, true) : end;
  }
  if (const std::size_t end = match_punctuation(scan, at, kLettersNumbersWhite); end > at) {
    std::size_t tail = end;
    while (is_newline(scan.byte(tail)) || scan.byte(tail) == '/') ++tail;
    return tail;
  }
  return scan.lines_or_spaces(at);
}

}  // namespace

KnownExpression o200k() { return {kO200kRegex, make_scanner<match>}; }

}  // namespace millrace::text::scanners
