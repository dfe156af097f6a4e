#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "chat/answer_parts.h"

namespace millrace::server {

// The output items of a response (Responses API): reasoning, message and function_call, in the order of the answer, and
// the events that announce them.
class ResponseItems {
 public:
  // Called with an event's type and its members.
  using Emit = std::function<void(const std::string& type, Json fields)>;

  // Ids of items are derived from `id`.
  ResponseItems(std::string id, bool shows_reasoning) : id_(std::move(id)), shows_reasoning_(shows_reasoning) {}

  void add(const chat::PartEvent& event, const Emit& emit);
  // Opens a message item, which may stay empty.
  void begin_message(const Emit& emit);
  // Ends the answer. `status`: "completed" or "incomplete". An answer without output becomes an empty message.
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
  std::optional<Kind> open_;           // kind of the open item, kCallBegin for a call; nothing = none is open
  std::string item_id_, name_, call_;  // id of the open item; name and id of a call
  std::string text_;                   // text of the open item so far
  Json done_ = Json::array();
};

}  // namespace millrace::server
