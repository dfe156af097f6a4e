#pragma once

#include <string>
#include <string_view>

namespace millrace::unicode {

// Assembles valid UTF-8 from bytes as they arrive; each maximal invalid subpart becomes U+FFFD. One thread.
class Utf8Assembler {
 public:
  // The text that these bytes complete.
  std::string push(std::string_view bytes);
  std::string finish();  // at the end: U+FFFD if a character is incomplete

 private:
  std::string pending_;  // the beginning of a character
};

}  // namespace millrace::unicode
