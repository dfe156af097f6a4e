#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace millrace::loadtest {

// What one event of an answer's stream says. Texts point into the parser and hold until it parses again.
struct AnswerEvent {
  bool token = false;     // it stands for what the model made: at least one token
  std::string_view text;  // of the answer itself, without reasoning and calls of tools
  std::string_view id, finish_reason;
  std::int64_t prompt_tokens = -1, cached_tokens = -1, completion_tokens = -1;  // of `usage`; -1: not said
  bool error = false;
  std::string_view message;  // of the error
};

// Reads the JSON of /v1/completions and /v1/chat/completions, whichever it is. Keeps its memory between events, so one
// of them serves all streams of a thread.
class AnswerEventParser {
 public:
  AnswerEventParser();
  ~AnswerEventParser();
  // Reads any object: what is not there or has another type is left as it is by default. False: this is no JSON object.
  // `data` has EventReader::kPadding readable bytes behind it.
  bool parse(const std::string& data, AnswerEvent& out);
  // The message of an error reply's body in any of the usual forms, else the body itself.
  std::string error_message(std::string_view body);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

// For people and their terminals: control characters as \xNN, in one line of at most `limit` bytes.
std::string one_line(std::string_view text, std::size_t limit = 300);

}  // namespace millrace::loadtest
