#include "text/byte_fallback.h"

namespace millrace::text {

int byte_of_fallback_token(std::string_view text) noexcept {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  int value = 0;
  for (const char c : text.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

void replace_fallback_token(std::string& token) {
  if (const int byte = byte_of_fallback_token(token); byte >= 0) token.assign(1, static_cast<char>(byte));
}

}  // namespace millrace::text
