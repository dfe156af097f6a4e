#pragma once

#include <cstdint>
#include <string>

namespace millrace::chat::tools {

// Converts a Python literal to JSON byte by byte: strings in either quotes, numbers, True, False, None (and JSON's
// words), lists, tuples and dictionaries.
class PythonLiteral {
 public:
  enum class Step : std::uint8_t { kMore, kDone, kDoneBefore, kBad };  // see JsonScanner::Step

  // Takes a byte, and appends the resulting JSON to `json`.
  Step push(char byte, std::string& json);

 private:
  enum class State : std::uint8_t { kValue, kString, kEscape, kCode, kWord, kAfterValue, kColon };
  Step begin_value(char byte, std::string& json);
  Step in_string(char byte, std::string& json);
  Step in_word(char byte, std::string& json);
  Step after_value(char byte, std::string& json);
  Step end_value();

  State state_ = State::kValue;
  std::string open_;        // the brackets around
  bool may_close_ = false;  // where a value may begin: after '[' or ','
  bool comma_ = false;      // one is due before the next value
  bool key_ = false;        // the value is a dictionary's key
  char quote_ = '"';
  int digits_ = 0;  // of an escape, still to come
  std::string word_;
};

}  // namespace millrace::chat::tools
