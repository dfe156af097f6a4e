#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::chat {

// A call of a function, as the model made it.
struct ToolCall {
  std::string id, name;
  std::string arguments;  // the text of a JSON object; not whole where the answer was cut
  bool operator==(const ToolCall&) const = default;
};

// What an answer says: its text, taken apart.
struct AnswerParts {
  std::string content, reasoning;
  std::vector<ToolCall> calls;
  bool operator==(const AnswerParts&) const = default;
};

// What an answer says next.
struct PartEvent {
  enum class Kind : std::uint8_t { kReasoning, kContent, kCallBegin, kCallArguments, kCallEnd };
  Kind kind = Kind::kContent;
  std::size_t call = 0;  // of the answer's calls, from 0; only of the last three kinds
  std::string text;      // kCallBegin: the function's name; kCallEnd: empty
  std::string id;        // kCallBegin: the call's
  bool operator==(const PartEvent&) const = default;
};

void add_event(AnswerParts& to, const PartEvent& event);
// Where they go on with what was said last, they become one with it.
void append_events(std::vector<PartEvent>& to, std::vector<PartEvent> events);

// Where the readers of an answer write what they find. Neighbours of a kind become one event. Where calls are looked
// for, white space around them belongs to neither: it is held back, and comes only where other content follows.
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

  // All since the last time.
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
