#pragma once

#include <string_view>

namespace millrace::text {

// The byte that "<0xXX>" stands for, or -1.
int byte_of_fallback_token(std::string_view text) noexcept;

}  // namespace millrace::text
