#pragma once

#include <span>
#include <string>
#include <string_view>

#include "chat/chat_template.h"

namespace millrace::chat {

// How a template takes the arguments of a tool call: as a JSON object, as the string that holds one, or both.
enum class ToolArguments { kNone, kObject, kString, kEither };

// The variable that turns reasoning on and off, or sets how much of it.
enum class ThinkingSwitch { kNone, kEnableThinking, kThinking, kReasoningEffort };
std::string_view to_string(ThinkingSwitch value) noexcept;  // the variable's name; "" for kNone

// What a template does with what a request may hold: found once, when the model loads, by rendering small conversations
// and looking for their words in the text.
struct TemplateCapabilities {
  bool content_strings = false;  // a message's content may be a string; at least one of these two holds
  bool content_parts = false;    // ... a list of {"type": "text", "text"}
  bool system_role = false;      // the text of a system message is written, anywhere
  bool later_system = false;     // one that comes after other messages is taken, and written in its place
  bool developer_role = false;   // "developer" is known, not just copied as any role would be
  bool tools = false;            // definitions of tools are written
  bool tool_results = false;     // the content of a tool message is written
  ToolArguments tool_arguments = ToolArguments::kNone;  // kNone: tool calls of the assistant are not written
  bool parallel_tool_calls = false;                     // more than one call in a message
  bool null_content = false;                            // a message with tool calls may have the content null
  bool empty_content = false;                           // ... and ""
  bool documents = false;                               // the text of documents is written
  bool generation_prompt = false;                       // add_generation_prompt changes the text
  ThinkingSwitch thinking_switch = ThinkingSwitch::kNone;
  bool thinks_by_default = false;  // without the switch set, the text is that of true
  std::string opened_thinking;     // the tag that the generation prompt opens with thinking on: "<think>"; or empty
};

// kBadFile if not even a single user message can be rendered, with what the template said. `context` has the model's
// special tokens; a template may fail without them.
Result<TemplateCapabilities> probe(const ChatTemplate& chat_template, const TemplateContext& context = {});

// The thinking tag that ends a rendered prompt ("<think>"), so that the model's answer begins inside it; empty if there
// is none. Only what the template wrote counts.
std::string_view opened_thinking_tag(std::span<const text::TextPiece> prompt);

}  // namespace millrace::chat
