#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "chat/answer_parts.h"

namespace millrace::server {

// The output of an object of /v1/responses: items of type reasoning, message and function_call in the order of the
// answer, and the stream events for them. Takes the events of one answer; one thread at a time.
class ResponseItems {
 public:
  // Called with the type of a stream event, such as response.output_item.added, and its members.
  using Emit = std::function<void(const std::string& type, Json fields)>;

  // Ids of items contain `id`. Without `shows_reasoning`, add() leaves out reasoning.
  ResponseItems(std::string id, bool shows_reasoning) : id_(std::move(id)), shows_reasoning_(shows_reasoning) {}

  // Adds to the open item, or closes it and opens the next; calls `emit` for each stream event.
  void add(const chat::PartEvent& event, const Emit& emit);
  // Closes the open item and opens a message, which may stay empty.
  void begin_message(const Emit& emit);
  // Closes the open item with `status`, "completed" or "incomplete". An answer without items gets an empty message.
  void end(const char* status, const Emit& emit);
  // The closed items, a list; all items after end().
  const Json& done() const noexcept { return done_; }

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
  std::optional<Kind> open_;           // kind of the open item: kReasoning, kContent or kCallBegin (a call)
  std::string item_id_, name_, call_;  // id of the open item; function name and call id, if it is a call
  std::string text_;                   // text or arguments of the open item, so far
  Json done_ = Json::array();
};

}  // namespace millrace::server
