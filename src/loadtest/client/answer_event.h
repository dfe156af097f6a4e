#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "loadtest/request_record.h"

namespace millrace::loadtest {

// The content of one event of an answer's stream. Texts point into the parser and are valid until its next call.
struct AnswerEvent {
  bool token = false;     // it has at least one token of the model
  std::string_view text;  // of the answer itself, without reasoning and tool calls
  std::string_view id, finish_reason;
  std::int64_t prompt_tokens = -1, cached_tokens = -1, completion_tokens = -1;  // from `usage`; -1: absent
  ServerTimes server;  // of millrace's last event, where it was asked for
  bool error = false;
  std::string_view message;  // only with `error`
};

// Parses the JSON of /v1/completions and /v1/chat/completions. Keeps its memory between events, so that one serves all
// streams of a thread.
class AnswerEventParser {
 public:
  AnswerEventParser();
  ~AnswerEventParser();
  // Parses any object; fields that are absent or of another type keep their defaults. False: it is no JSON object.
  // `data` must be followed by EventReader::kPadding readable bytes.
  bool parse(const std::string& data, AnswerEvent& out);
  // The message of an error reply's body in any of the usual forms, else the body itself.
  std::string error_message(std::string_view body);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

// The text for terminals: control characters as \xNN, one line of at most `limit` bytes.
std::string one_line(std::string_view text, std::size_t limit = 300);

}  // namespace millrace::loadtest
