#pragma once

#include <string>
#include <string_view>

namespace millrace::unicode {

// Joins bytes into whole UTF-8 as they arrive; what is not UTF-8 becomes U+FFFD, one for each maximal subpart.
class Utf8Assembler {
 public:
  // The text that became complete with these bytes.
  std::string push(std::string_view bytes);
  std::string finish();  // U+FFFD when a character is still open

 private:
  std::string pending_;  // the beginning of a character
};

}  // namespace millrace::unicode
