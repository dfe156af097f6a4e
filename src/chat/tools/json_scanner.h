#pragma once

#include <cstdint>
#include <string>

namespace millrace::chat::tools {

// Follows one JSON value byte by byte (RFC 8259, but control characters may occur unescaped in strings, since models
// write them). It returns kBad at the first byte that cannot continue a value.
class JsonScanner {
 public:
  enum class Step : std::uint8_t {
    kMore,        // the value continues
    kDone,        // the value ends with this byte
    kDoneBefore,  // the value, a number, ended before this byte
    kBad,
  };
  static constexpr std::size_t kDepth = 64;

  Step push(char byte);
  bool in_string() const noexcept {
    return state_ == State::kString || state_ == State::kEscape || state_ == State::kHex;
  }

 private:
  enum class State : std::uint8_t {
    kValue,         // a value begins
    kFirstElement,  // after '[': a value or ']'
    kFirstKey,      // after '{': a key or '}'
    kKey,
    kColon,
    kAfterValue,
    kString,
    kEscape,
    kHex,
    kWord,
    kMinus,
    kZero,
    kDigits,
    kPoint,
    kFraction,
    kExponent,
    kExponentSign,
    kExponentDigits,
    kEnd,
  };
  Step begin_value(char byte);
  Step end_value();
  Step in_number(char byte);
  bool number_may_end() const noexcept;
  Step after_value(char byte);

  State state_ = State::kValue;
  std::string open_;  // '{' and '[' around
  bool string_is_key_ = false;
  const char* word_ = nullptr;  // what is left of true, false, null
  int hex_ = 0;                 // digits still to come
};

// A byte in valid JSON: a control character within a string is escaped.
inline std::string json_byte(char byte, bool in_string) {
  const auto code = static_cast<unsigned char>(byte);
  if (!in_string || code >= 0x20) return {byte};
  if (byte == '\n') return "\\n";
  if (byte == '\t') return "\\t";
  if (byte == '\r') return "\\r";
  static constexpr char kHexDigits[] = "0123456789abcdef";
  return std::string("\\u00") + kHexDigits[code >> 4] + kHexDigits[code & 15];
}

}  // namespace millrace::chat::tools
