#include "chat/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace millrace::chat::jinja {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

struct Range {
  char32_t first, last;
};

// Numeric_Type=Digit without being decimal: superscripts, circled and other digits (UnicodeData.txt, field 7 without
// field 6).
constexpr Range kOtherDigits[] = {
    {0xB2, 0xB3},     {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},   {0x2070, 0x2070},
    {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},   {0x2488, 0x2490},
    {0x24EA, 0x24EA}, {0x24F5, 0x24FD},   {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
    {0x278A, 0x2792}, {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A},
};

bool in_ranges(char32_t c, const Range* begin, const Range* end) {
  const Range* range = std::lower_bound(begin, end, c, [](const Range& r, char32_t value) { return r.last < value; });
  return range != end && range->first <= c;
}

// Length of the valid UTF-8 sequence at `offset`, or minus the length of the maximal invalid part.
int sequence_length(std::string_view bytes, std::size_t offset) {
  const auto byte = [&](std::size_t i) {
    return offset + i < bytes.size() ? static_cast<unsigned char>(bytes[offset + i]) : 0u;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return -1;
  const int length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  unsigned low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  for (int i = 1; i < length; ++i) {
    if (byte(static_cast<std::size_t>(i)) < low || byte(static_cast<std::size_t>(i)) > high) return -i;
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& offset) {
  const auto byte = [&] { return static_cast<unsigned char>(text[offset++]); };
  const char32_t lead = byte();
  if (lead < 0x80) return lead;
  int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  char32_t c = lead & (0x3Fu >> more);
  while (more-- > 0 && offset < text.size()) c = (c << 6) | (byte() & 0x3F);
  return c;
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const int length = sequence_length(bytes, i);
    if (length > 0) {
      out.append(bytes.substr(i, static_cast<std::size_t>(length)));
    } else {
      out += "\xEF\xBF\xBD";
    }
    i += static_cast<std::size_t>(length > 0 ? length : -length);
  }
  return out;
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_break(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_alpha(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }

bool is_digit(char32_t c) { return is_decimal(c) || in_ranges(c, std::begin(kOtherDigits), std::end(kOtherDigits)); }

bool is_numeric(char32_t c) {
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_word(char32_t c) { return c == '_' || is_alpha(c) || is_numeric(c); }

bool is_upper(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LU; }

bool is_lower(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LL || c == 0xAA || c == 0xBA; }

bool is_cased(char32_t c) { return is_upper(c) || is_lower(c) || category(c) == UTF8PROC_CATEGORY_LT; }

bool is_printable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c < 0x7F;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS: return false;
    default: return true;
  }
}

void append_upper(std::string& out, char32_t c) {
  if (const std::string_view special = special_upper(c); !special.empty()) {
    out += special;
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_lower(std::string& out, char32_t c) {
  if (c == 0x130) {  // I with dot above: the only character whose lower case is two
    out += "i\xCC\x87";
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_title(std::string& out, char32_t c) {
  const std::string_view special = special_upper(c);
  const auto title = static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c)));
  if (special.empty() || (title != c && c != 0xDF)) return append_utf8(out, title);
  // A ligature: its first letter in upper case, the rest lower.
  std::size_t offset = 0;
  append_utf8(out, next_code_point(special, offset));
  while (offset < special.size()) append_lower(out, next_code_point(special, offset));
}

void append_folded(std::string& out, char32_t c) {
  utf8proc_int32_t folded[4];
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, 4, UTF8PROC_CASEFOLD, nullptr);
  for (utf8proc_ssize_t i = 0; i < count; ++i) append_utf8(out, static_cast<char32_t>(folded[i]));
}

}  // namespace millrace::chat::jinja
