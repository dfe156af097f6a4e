#include "server/formats/response_items.h"

#include <fmt/format.h>

namespace millrace::server {

std::string ResponseItems::id_of(const char* prefix) const {
  return done_.empty() ? prefix + id_ : fmt::format("{}{}_{}", prefix, id_, done_.size());
}

Json ResponseItems::place(bool with_part) const {
  Json out = {{"item_id", item_id_}, {"output_index", done_.size()}};
  if (with_part) out["content_index"] = 0;
  return out;
}

Json ResponseItems::part() const {
  if (open_ == Kind::kReasoning) return {{"type", "reasoning_text"}, {"text", text_}};
  return {{"type", "output_text"}, {"text", text_}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
}

Json ResponseItems::item(const char* status, bool whole) const {
  if (open_ == Kind::kCallBegin) {
    return {{"id", item_id_},   {"type", "function_call"}, {"status", status},
            {"call_id", call_}, {"name", name_},           {"arguments", text_}};
  }
  Json content = Json::array();
  if (whole) content.push_back(part());
  if (open_ == Kind::kReasoning) {
    return {{"id", item_id_},
            {"type", "reasoning"},
            {"status", status},
            {"summary", Json::array()},
            {"content", std::move(content)}};
  }
  return {{"id", item_id_},
          {"type", "message"},
          {"status", status},
          {"role", "assistant"},
          {"content", std::move(content)}};
}

void ResponseItems::open(Kind kind, const Emit& emit) {
  close("completed", emit);
  open_ = kind;
  text_.clear();
  item_id_ = id_of(kind == Kind::kReasoning ? "rs_" : kind == Kind::kCallBegin ? "fc_" : "msg_");
  emit("response.output_item.added", {{"output_index", done_.size()}, {"item", item("in_progress", false)}});
  if (kind == Kind::kCallBegin) return;
  Json fields = place(true);
  fields["part"] = part();
  emit("response.content_part.added", std::move(fields));
}

void ResponseItems::begin_message(const Emit& emit) { open(Kind::kContent, emit); }

void ResponseItems::add(const chat::PartEvent& event, const Emit& emit) {
  const auto delta = [&](const char* type, bool with_part) {
    text_ += event.text;
    Json fields = place(with_part);
    fields["delta"] = event.text;
    if (event.kind == Kind::kContent) fields["logprobs"] = Json::array();
    emit(type, std::move(fields));
  };
  switch (event.kind) {
    case Kind::kReasoning:
      if (!shows_reasoning_) return;
      if (open_ != Kind::kReasoning) open(Kind::kReasoning, emit);
      return delta("response.reasoning_text.delta", true);
    case Kind::kContent:
      if (open_ != Kind::kContent) open(Kind::kContent, emit);
      return delta("response.output_text.delta", true);
    case Kind::kCallBegin:
      close("completed", emit);
      name_ = event.text;
      call_ = event.id;
      return open(Kind::kCallBegin, emit);
    case Kind::kCallArguments: return delta("response.function_call_arguments.delta", false);
    case Kind::kCallEnd: return;  // with the next item, or the answer's end, which knows whether it was cut
  }
}

void ResponseItems::close(const char* status, const Emit& emit) {
  if (!open_) return;
  Json fields = place(open_ != Kind::kCallBegin);
  if (open_ == Kind::kCallBegin) {
    fields["name"] = name_;
    fields["arguments"] = text_;
    emit("response.function_call_arguments.done", std::move(fields));
  } else {
    fields["text"] = text_;
    if (open_ == Kind::kContent) fields["logprobs"] = Json::array();
    emit(open_ == Kind::kContent ? "response.output_text.done" : "response.reasoning_text.done", std::move(fields));
    Json ended = place(true);
    ended["part"] = part();
    emit("response.content_part.done", std::move(ended));
  }
  Json whole = item(status, true);
  emit("response.output_item.done", {{"output_index", done_.size()}, {"item", whole}});
  done_.push_back(std::move(whole));
  open_.reset();
}

void ResponseItems::end(const char* status, const Emit& emit) {
  if (!open_ && done_.empty()) begin_message(emit);
  close(status, emit);
}

}  // namespace millrace::server
