#include "chat/answer_parts.h"

#include "base/check.h"

namespace millrace::chat {

void add_event(AnswerParts& to, const PartEvent& event) {
  using enum PartEvent::Kind;
  switch (event.kind) {
    case kReasoning: to.reasoning += event.text; break;
    case kContent: to.content += event.text; break;
    case kCallBegin: to.calls.push_back({.id = event.id, .name = event.text, .arguments = {}}); break;
    case kCallArguments: to.calls[event.call].arguments += event.text; break;
    case kCallEnd: break;
  }
}

void append_events(std::vector<PartEvent>& to, std::vector<PartEvent> events) {
  using enum PartEvent::Kind;
  for (PartEvent& event : events) {
    const bool goes_on = event.kind != kCallBegin && event.kind != kCallEnd && !to.empty() &&
                         to.back().kind == event.kind && to.back().call == event.call;
    if (goes_on) {
      to.back().text += event.text;
    } else {
      to.push_back(std::move(event));
    }
  }
}

void PartWriter::add(PartEvent::Kind kind, std::string_view text) {
  if (text.empty()) return;
  const std::size_t call = kind == PartEvent::Kind::kCallArguments ? calls_ - 1 : 0;
  if (events_.empty() || events_.back().kind != kind)
    events_.push_back({.kind = kind, .call = call, .text = {}, .id = {}});
  events_.back().text += text;
}

void PartWriter::content(std::string_view text) {
  if (!holds_space_) return add(PartEvent::Kind::kContent, text);
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) {
    space_ += text;
    return;
  }
  add(PartEvent::Kind::kContent, std::exchange(space_, {}));
  add(PartEvent::Kind::kContent, text.substr(0, last + 1));
  space_ = text.substr(last + 1);
}

void PartWriter::begin_call(std::string_view name) {
  DCHECK(!in_call_);
  space_.clear();
  in_call_ = true;
  events_.push_back({.kind = PartEvent::Kind::kCallBegin, .call = calls_++, .text = std::string(name), .id = {}});
}

void PartWriter::end_call() {
  DCHECK(in_call_);
  in_call_ = false;
  events_.push_back({.kind = PartEvent::Kind::kCallEnd, .call = calls_ - 1, .text = {}, .id = {}});
}

void PartWriter::finish() {
  if (in_call_) end_call();
  if (calls_ == 0) add(PartEvent::Kind::kContent, space_);
  space_.clear();
}

}  // namespace millrace::chat
