#include "text/regex/known_expressions.h"
#include "text/word_matches.h"

// The last of DeepSeek V3's three expressions; numbers are cut out before it.
namespace millrace::text::scanners {
namespace {

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_ascii_punctuation(char c) { return c > ' ' && c < 0x7F && !is_ascii_letter(c) && !(c >= '0' && c <= '9'); }

std::size_t match_deepseek_v3(const Scanner& scan, std::size_t at) {
  constexpr unicode::CategorySet kWordSet = unicode::kLetters | unicode::kMarks,
                                 kSigns = unicode::kPunctuation | unicode::kSymbols;
  if (is_ascii_punctuation(scan.byte(at)) && is_ascii_letter(scan.byte(at + 1))) {
    std::size_t end = at + 1;
    while (is_ascii_letter(scan.byte(end))) ++end;
    return end;
  }
  const Scanner::Char first = scan.at(at);
  if (!first.is(unicode::kLetters | kSigns) && !is_newline(scan.byte(at)) && scan.at(at + first.size).is(kWordSet)) {
    return scan.run(at + first.size, kWordSet);
  }
  if (first.is(kWordSet)) return scan.run(at, kWordSet);
  const std::size_t body = at + (scan.byte(at) == ' ' ? 1 : 0);
  if (const std::size_t end = scan.run(body, kSigns); end > body) return scan.newlines(end);
  return first.is(kWhite) ? scan.lines_or_spaces(at) : at;
}

}  // namespace

KnownExpression deepseek_v3() { return {kDeepseekV3Regex, make_scanner<match_deepseek_v3>}; }

}  // namespace millrace::text::scanners
