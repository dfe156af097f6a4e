#include "printable.h"

#include <fmt/core.h>

#include "unicode/code_points.h"

namespace millrace::app {
namespace {

std::string escaped(std::string_view text, std::string_view kept) {
  const bool valid = unicode::is_valid_utf8(text);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_kept = kept.find(text[i]) != std::string_view::npos;
    if (!is_kept && valid && byte == 0xC2 && next < 0xA0) {  // U+0080 to U+009F: C1, among them CSI
      out += fmt::format("\\x{:02x}", next);
      ++i;
    } else if (!is_kept && (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !valid))) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, ""); }
std::string printable_lines(std::string_view text) { return escaped(text, "\n\t"); }

}  // namespace millrace::app
