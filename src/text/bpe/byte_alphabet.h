#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::text {

// GPT-2's representation of bytes as printable characters (encoder.py, bytes_to_unicode): printable Latin-1 characters
// represent themselves, the other 68 bytes are U+0100, U+0101 ... in order. Byte-level vocabularies use it ("\u0120the"
// is " the").

// The bytes that `spelling` represents; nothing if it has a character outside the alphabet or is not UTF-8.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);
std::string spelling_of_bytes(std::string_view bytes);

}  // namespace millrace::text
