#include "screen/styled_text.h"

#include <utf8proc.h>

#include "unicode/code_points.h"

namespace millrace::screen {
namespace {

constexpr int kEscapedColumns = 4;  // "\x1b"

}  // namespace

void append(StyledText& to, std::string_view text, Style style) {
  for (std::size_t at = 0; at < text.size();) {
    const unicode::CodePoint point = unicode::code_point_at(text, at);
    to.push_back({point.value, style});
    at += point.size;
  }
}

int width_of(char32_t character) {
  if (character < 0x20 || (character >= 0x7F && character < 0xA0)) return kEscapedColumns;
  if (character < 0x7F) return 1;
  return utf8proc_charwidth(static_cast<utf8proc_int32_t>(character));
}

int width_of(const StyledText& text) {
  int width = 0;
  for (const StyledChar& one : text) width += width_of(one.value);
  return width;
}

}  // namespace millrace::screen
