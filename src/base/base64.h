#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

// Decodes RFC 4648 with the standard alphabet; padding may be missing. Nothing if `text` has other characters.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);  // with padding

}  // namespace millrace
