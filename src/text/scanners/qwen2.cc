#include "text/known_expressions.h"
#include "text/word_matches.h"

// Qwen 2 and 2.5, StableLM 2, Hunyuan: llama3's, but every number on its own.
namespace millrace::text::scanners {
namespace {

std::size_t match(const Scanner& scan, std::size_t at) {
  if (scan.byte(at) == '\'') {
    if (const std::size_t size = scan.contraction(at, true)) return at + size;
  }
  const Scanner::Char first = scan.at(at);
  if (first.is(kNumbers)) return at + first.size;
  if (const std::size_t end = match_word(scan, at, kLetters); end > at) return end;
  if (const std::size_t end = match_punctuation(scan, at, kLettersNumbersWhite); end > at) return end;
  return scan.lines_or_spaces(at);
}

}  // namespace

KnownExpression qwen2() { return {kQwen2Regex, make_scanner<match>}; }

}  // namespace millrace::text::scanners
