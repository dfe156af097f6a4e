#include "text/regex/known_expressions.h"
#include "text/regex/scanner.h"

namespace millrace::text::scanners {
namespace {

std::size_t match_gpt2(const Scanner& scan, std::size_t at) {
  const char lead = scan.byte(at);
  if (lead == '\'') {
    if (const std::size_t size = scan.contraction(at, false)) return at + size;
  }
  const std::size_t body = at + (lead == ' ' ? 1 : 0);
  const Scanner::Char c = scan.at(body);
  if (c.size == 0 || c.is(kWhite)) return scan.spaces(at);
  return scan.run(body, c.is(unicode::kLetters)   ? unicode::kLetters
                        : c.is(unicode::kNumbers) ? unicode::kNumbers
                                                  : ~kLettersNumbersWhite);
}

}  // namespace

KnownExpression gpt2() { return {kGpt2Regex, make_scanner<match_gpt2>}; }

}  // namespace millrace::text::scanners
