#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

// RFC 4648, the standard alphabet; padding may be missing. None when `text` holds anything else.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);  // with padding

}  // namespace millrace
