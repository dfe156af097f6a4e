#pragma once

#include "chat/answer_parts.h"
#include "chat/tools/json_scanner.h"

namespace millrace::chat::tools {

// Writes the arguments of a call, one JSON value, byte by byte.
class ArgumentWriter {
 public:
  enum class Step {
    kMore,
    kEnded,     // the arguments end with this byte, and so does the call
    kNotTaken,  // the arguments, and the call, ended before this byte
  };
  explicit ArgumentWriter(PartWriter& writer) : writer_(writer) {}

  void begin_call(std::string_view name) {
    writer_.begin_call(name);
    json_ = {};
  }
  Step push(char byte) {
    const bool in_string = json_.in_string();
    const JsonScanner::Step step = json_.push(byte);
    const bool taken = step == JsonScanner::Step::kMore || step == JsonScanner::Step::kDone;
    if (taken) writer_.arguments(json_byte(byte, in_string));
    if (step == JsonScanner::Step::kMore) return Step::kMore;
    writer_.end_call();
    return taken ? Step::kEnded : Step::kNotTaken;
  }

 private:
  PartWriter& writer_;
  JsonScanner json_;
};

}  // namespace millrace::chat::tools
