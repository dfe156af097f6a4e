#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "chat/answer_parts.h"

namespace millrace::server {

// The output of a response: items of type reasoning, message and function_call in the order in which the answer says
// them, and the events that tell of them.
class ResponseItems {
 public:
  // Called with an event's type and its members.
  using Emit = std::function<void(const std::string& type, Json fields)>;

  // Items are named after `id`.
  ResponseItems(std::string id, bool shows_reasoning) : id_(std::move(id)), shows_reasoning_(shows_reasoning) {}

  void add(const chat::PartEvent& event, const Emit& emit);
  // A message that may still be empty.
  void begin_message(const Emit& emit);
  // The answer has ended; without a word there is an empty message. "completed" or "incomplete".
  void end(const char* status, const Emit& emit);
  const Json& done() const noexcept { return done_; }  // [items]

 private:
  using Kind = chat::PartEvent::Kind;
  void open(Kind kind, const Emit& emit);
  void close(const char* status, const Emit& emit);
  Json item(const char* status, bool whole) const;
  Json part() const;
  std::string id_of(const char* prefix) const;
  Json place(bool with_part) const;

  const std::string id_;
  const bool shows_reasoning_;
  std::optional<Kind> open_;           // what the last item is, while it is open; kCallBegin: a call
  std::string item_id_, name_, call_;  // the open item's; name and id of a call
  std::string text_;                   // of the open item, so far
  Json done_ = Json::array();
};

}  // namespace millrace::server
