#include <string_view>

#include "text/regex/known_expressions.h"
#include "text/regex/scanner.h"

namespace millrace::text::scanners {
namespace {

// The class is ( ) | and the marks that end a sentence in several scripts.
bool is_end_mark(const Scanner& scan, std::size_t at) {
  const char c = scan.byte(at);
  if (static_cast<unsigned char>(c) < 0x80) return std::string_view("(|.,!?)").find(c) != std::string_view::npos;
  switch (scan.code_point(at)) {
    case 0x2026:  // ...
    case 0x3002:  // ideographic full stop
    case 0xFF0C:  // fullwidth comma
    case 0x3001:  // ideographic comma
    case 0x0964:  // danda
    case 0x06D4:  // Arabic full stop
    case 0x060C:  // Arabic comma
      return true;
    default: return false;
  }
}

std::size_t match_bloom(const Scanner& scan, std::size_t at) {
  const std::size_t body = at + (scan.byte(at) == ' ' ? 1 : 0);
  std::size_t end = body;
  for (Scanner::Char c = scan.at(end); c.size > 0 && !c.is(kWhite) && !is_end_mark(scan, end); c = scan.at(end)) {
    end += c.size;
  }
  return end > body ? end : at;
}

}  // namespace

KnownExpression bloom() { return {kBloomRegex, make_scanner<match_bloom>}; }

}  // namespace millrace::text::scanners
