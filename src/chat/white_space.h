#pragma once

namespace millrace::chat {

// White space as JSON has it.
constexpr bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace millrace::chat
