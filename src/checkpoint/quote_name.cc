#include "checkpoint/quote_name.h"

#include <fmt/core.h>

namespace millrace::checkpoint {

std::string quote_name(std::string_view name) {
  constexpr std::size_t kShown = 80;
  std::string out = "'";
  for (const char c : name.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\'' && c != '\\') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  }
  return out + (name.size() > kShown ? "...'" : "'");
}

}  // namespace millrace::checkpoint
