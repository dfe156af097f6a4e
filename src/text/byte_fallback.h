#pragma once

#include <string>
#include <string_view>

namespace millrace::text {

// The byte of a token "<0xXX>"; -1 for other texts.
int byte_of_fallback_token(std::string_view text) noexcept;
// Such a token becomes its byte; others stay.
void replace_fallback_token(std::string& token);

}  // namespace millrace::text
