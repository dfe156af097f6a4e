#include "text/bpe/byte_alphabet.h"

#include <array>

#include "unicode/code_points.h"

namespace millrace::text {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

struct Alphabet {
  std::array<char32_t, 256> character{};
  std::array<std::int16_t, 0x144> byte{};  // by code point; -1 = not in the alphabet
};

constexpr Alphabet kAlphabet = [] {
  Alphabet alphabet;
  alphabet.byte.fill(-1);
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t c = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
    alphabet.character[static_cast<std::size_t>(byte)] = c;
    alphabet.byte[c] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}();

}  // namespace

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string out;
  out.reserve(spelling.size());
  for (std::size_t at = 0; at < spelling.size();) {
    const auto lead = static_cast<unsigned char>(spelling[at]);
    char32_t c = lead;
    std::size_t size = 1;
    if (lead >= 0x80) {
      const unicode::Utf8Unit unit = unicode::next_utf8_unit(spelling.substr(at));
      if (unit.kind != unicode::Utf8Unit::Kind::kCharacter || unit.size != 2) return std::nullopt;
      c = unicode::code_point_at(spelling, at).value;
      size = 2;
    }
    if (c >= kAlphabet.byte.size() || kAlphabet.byte[c] < 0) return std::nullopt;
    out.push_back(static_cast<char>(kAlphabet.byte[c]));
    at += size;
  }
  return out;
}

std::string spelling_of_bytes(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) unicode::append_utf8(out, kAlphabet.character[static_cast<unsigned char>(byte)]);
  return out;
}

}  // namespace millrace::text
