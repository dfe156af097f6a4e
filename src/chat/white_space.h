#pragma once

namespace millrace::chat {

// Whether it is white space in JSON.
constexpr bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace millrace::chat
