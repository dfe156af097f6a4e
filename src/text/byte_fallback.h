#pragma once

#include <string_view>

namespace millrace::text {

// The byte of a token "<0xXX>"; -1 for other texts.
int byte_of_fallback_token(std::string_view text) noexcept;

}  // namespace millrace::text
