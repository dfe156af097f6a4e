// Messages whose first line says what they are: HyperCLOVA X SEED.
//   /think, reasoning; an empty line, content; " -> tool/function_call" and a JSON list of {"name", "arguments"}
// with <|im_end|>, a line feed and <|im_start|>assistant between.

#include "chat/tools/call_grammar.h"
#include "chat/tools/channel_parser.h"
#include "chat/tools/json_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

using Id = grammar::ExpressionId;

constexpr std::string_view kStart = "<|im_start|>", kEnd = "<|im_end|>";
constexpr std::string_view kThink = "/think", kCall = " -> tool/function_call";

int recognise(std::string_view chat_template) {
  return 4 * (chat_template.find("-> tool/function_call") != std::string_view::npos);
}

ChannelStyle::Kind kind_of(std::string_view head) {
  if (head == kThink) return ChannelStyle::Kind::kReasoning;
  return head == kCall ? ChannelStyle::Kind::kCalls : ChannelStyle::Kind::kContent;
}

std::unique_ptr<ToolParser> call_parser(const ToolUse& use, PartWriter& writer) {
  return json_call_parser({.openers = {std::string(kCall) + "\n"}, .closer = ""}, use, writer);
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return channel_parser({.start = std::string(kStart) + "assistant",
                         .head_end = "\n",
                         .ends = {std::string(kEnd), std::string(kStart), "<|endofturn|>", "<|stop|>"},
                         .begins = {std::string(kThink), std::string(kCall)},
                         .kind = kind_of,
                         .calls_open = std::string(kCall) + "\n",
                         .calls = call_parser},
                        use, writer);
}

Id next(CallGrammar& to) {
  return to.sequence({to.special(kEnd), to.bytes("\n"), to.special(kStart), to.bytes("assistant")});
}

// Reasoning, or nothing.
Id thought(CallGrammar& to) {
  return to.grammar().optional(to.sequence({to.bytes(std::string(kThink) + "\n"), to.until(kEnd), to.bytes("\n"),
                                            to.special(kStart), to.bytes("assistant")}));
}

Result<Id> list(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) { return to.json_call(tool); });
  if (!call) return call;
  const Id comma = to.sequence({to.space(), to.bytes(","), to.space()});
  return to.sequence({to.bytes(std::string(kCall) + "\n["), to.several(*call, comma), to.bytes("]"),
                      to.grammar().optional(to.special(kEnd))});
}

Result<Id> calls(CallGrammar& to) {
  auto called = list(to);
  if (!called) return called;
  return to.sequence({thought(to), *called});
}

// Reasoning, then calls, or words that calls may follow.
Result<Id> answer(CallGrammar& to) {
  auto called = list(to);
  if (!called) return called;
  auto text = to.text_without({std::string(kStart), std::string(kEnd)});
  if (!text) return text;
  const Id then = to.grammar().choice({to.grammar().optional(to.special(kEnd)), to.sequence({next(to), *called})});
  return to.sequence({thought(to), to.grammar().choice({*called, to.sequence({to.bytes("\n"), *text, then})})});
}

Id content(CallGrammar& to, Id text) {
  return to.sequence({thought(to), to.bytes("\n"), text, to.grammar().optional(to.special(kEnd))});
}

}  // namespace

ToolFormat hyperclovax() {
  return {.name = "hyperclovax",
          .description = "-> tool/function_call and [{\"name\", \"arguments\"}], /think too: HyperCLOVA X SEED",
          .aliases = {"hyperclovax_seed_think_14b"},
          .recognise = recognise,
          .markers = {kStart, kEnd},
          .always = true,
          .parser = parser,
          .calls = calls,
          .content = content,
          .answer = answer};
}

}  // namespace millrace::chat::tools::formats
