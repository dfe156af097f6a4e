#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat_template.h"

namespace millrace::chat {

// The forms in which a template accepts the arguments of a tool call: a JSON object, a string that contains one, or
// both.
enum class ToolArguments { kNone, kObject, kString, kEither };

// The variable of a template that turns reasoning on and off, or sets its amount.
enum class ThinkingSwitch { kNone, kEnableThinking, kThinking, kReasoningEffort };
std::string_view to_string(ThinkingSwitch value) noexcept;  // the variable's name; "" for kNone

// What a template does with the parts of a request. Determined once, when the model loads, by rendering small
// conversations and searching the result for their words.
struct TemplateCapabilities {
  // A message's content may be a string; at least one of this and content_parts is true.
  bool content_strings = false;
  bool content_parts = false;  // a message's content may be a list of {"type": "text", "text"}
  bool system_role = false;    // the text of a system message is rendered
  bool later_system = false;   // a system message after other messages is rendered at its place
  // "developer" has a meaning of its own, and is not just copied as any role would be.
  bool developer_role = false;
  bool tools = false;                                   // definitions of tools are rendered
  bool tool_results = false;                            // the content of a tool message is rendered
  ToolArguments tool_arguments = ToolArguments::kNone;  // kNone: the assistant's tool calls are not rendered
  bool parallel_tool_calls = false;                     // several calls in a message are rendered
  bool null_content = false;                            // the content of a message with tool calls may be null
  bool empty_content = false;                           // the content of a message with tool calls may be ""
  // A message with tool calls may have text and reasoning; else it may have either.
  bool text_and_reasoning = true;
  bool documents = false;          // the text of documents is rendered
  bool generation_prompt = false;  // add_generation_prompt changes the text
  ThinkingSwitch thinking_switch = ThinkingSwitch::kNone;
  bool thinks_by_default = false;  // without the variable set, the model reasons as with true or a high effort
  // The words that a template with reasoning_effort knows; empty: it writes any word into the prompt.
  std::vector<std::string> efforts;
  // The tag that the generation prompt opens when reasoning is on: "<think>"; or empty.
  std::string opened_thinking;
};

// Determines the capabilities of a template. kBadFile, with the template's message, if it cannot render a single user
// message. `context` has the model's special tokens, which a template may need.
Result<TemplateCapabilities> probe(const ChatTemplate& chat_template, const TemplateContext& context = {});

// The reasoning tag that ends a rendered prompt ("<think>"), so that the answer begins inside it; empty if there is
// none. Only text of the template counts.
std::string_view opened_thinking_tag(std::span<const text::TextPiece> prompt);

}  // namespace millrace::chat
