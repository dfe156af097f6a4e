#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::chat {

// A function call in an answer.
struct ToolCall {
  std::string id, name;
  std::string arguments;  // text of a JSON object; incomplete if the answer was cut off
  bool operator==(const ToolCall&) const = default;
};

// An answer's text, split into its parts.
struct AnswerParts {
  std::string content, reasoning;
  std::vector<ToolCall> calls;
  bool operator==(const AnswerParts&) const = default;
};

// A further piece of an answer.
struct PartEvent {
  enum class Kind : std::uint8_t { kReasoning, kContent, kCallBegin, kCallArguments, kCallEnd };
  Kind kind = Kind::kContent;
  std::size_t call = 0;  // index of the call in the answer; only for the last three kinds
  std::string text;      // kCallBegin: the function's name; kCallEnd: empty
  std::string id;        // only for kCallBegin: the call's id
  bool operator==(const PartEvent&) const = default;
};

void add_event(AnswerParts& to, const PartEvent& event);  // Appends the event to the parts.
// Appends the events. If the first one continues the last event of `to`, the two are merged.
void append_events(std::vector<PartEvent>& to, std::vector<PartEvent> events);

// Receives the parts that readers find in an answer, and merges adjacent ones of a kind into one event. If calls are
// expected, white space around them belongs to no part: it is held back, and emitted only if other content follows.
class PartWriter {
 public:
  explicit PartWriter(bool looks_for_calls) : holds_space_(looks_for_calls) {}
  void reasoning(std::string_view text) { add(PartEvent::Kind::kReasoning, text); }
  void content(std::string_view text);
  void begin_call(std::string_view name);
  void arguments(std::string_view json) { add(PartEvent::Kind::kCallArguments, json); }
  void end_call();
  void finish();  // the answer has ended
  bool in_call() const noexcept { return in_call_; }

  // Returns all events since the last call.
  std::vector<PartEvent> take() { return std::exchange(events_, {}); }

 private:
  void add(PartEvent::Kind kind, std::string_view text);
  std::vector<PartEvent> events_;
  const bool holds_space_;
  std::string space_;  // held back
  std::size_t calls_ = 0;
  bool in_call_ = false;
};

}  // namespace millrace::chat
