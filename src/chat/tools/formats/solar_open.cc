// Messages of three kinds, of which think is reasoning and content is content: Solar Open.
//   <|think|>TEXT<|end|><|begin|>assistant<|content|>TEXT<|flush|>
//   <|tool_calls|><|tool_call:begin|>ID<|tool_call:name|>f<|tool_call:args|>{...}<|tool_call:end|><|calls|>

#include "chat/tools/call_grammar.h"
#include "chat/tools/channel_parser.h"
#include "chat/tools/named_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

using Id = grammar::ExpressionId;

constexpr std::string_view kBegin = "<|begin|>", kEnd = "<|end|>", kFlush = "<|flush|>", kDone = "<|calls|>";
constexpr std::string_view kThink = "<|think|>", kContent = "<|content|>", kCalls = "<|tool_calls|>";
constexpr std::string_view kCallBegin = "<|tool_call:begin|>", kCallEnd = "<|tool_call:end|>";
constexpr std::string_view kName = "<|tool_call:name|>", kArguments = "<|tool_call:args|>";

int recognise(std::string_view chat_template) { return 3 * (chat_template.find(kCallBegin) != std::string_view::npos); }

// A head is its marker without the end.
ChannelStyle::Kind kind_of(std::string_view head) {
  if (head == "<|think") return ChannelStyle::Kind::kReasoning;
  return head == "<|tool_calls" ? ChannelStyle::Kind::kCalls : ChannelStyle::Kind::kContent;
}

std::string_view name_in(std::string_view head) {
  const std::size_t begin = head.find(kName), end = head.find(kArguments);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return head.substr(begin + kName.size(), end - begin - kName.size());
}

std::unique_ptr<ToolParser> call_parser(const ToolUse& use, PartWriter& writer) {
  return named_call_parser({.section_open = "",
                            .section_close = "",
                            .call_open = std::string(kCallBegin),
                            .call_close = std::string(kCallEnd),
                            .name = name_in},
                           use, writer);
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return channel_parser({.start = std::string(kBegin) + "assistant",
                         .head_end = "|>",
                         .ends = {std::string(kEnd), std::string(kFlush), std::string(kDone)},
                         .begins = {"<|think", "<|content", "<|tool_calls"},
                         .kind = kind_of,
                         .calls_open = "",
                         .calls = call_parser},
                        use, writer);
}

Id next(CallGrammar& to) { return to.sequence({to.special(kEnd), to.special(kBegin), to.bytes("assistant")}); }

// What the model may think before its first word to others.
Id thoughts(CallGrammar& to) {
  return to.grammar().optional(
      to.sequence({to.special(kThink), to.until(kEnd), to.special(kBegin), to.bytes("assistant")}));
}

Result<Id> several_calls(CallGrammar& to) {
  // An id of up to 32 letters, digits and marks.
  grammar::Grammar& g = to.grammar();
  unicode::CodePointSet letters;
  for (const auto& [first, last] : {std::pair(U'a', U'z'), {U'A', U'Z'}, {U'0', U'9'}, {U'_', U'_'}, {U'-', U'-'}}) {
    letters.add(first, last);
  }
  const Id id = g.repeat(g.character(letters), 1, 32);
  auto call = to.any([&](const Tool& tool) -> Result<Id> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    return to.sequence({to.special(kCallBegin), id, to.special(kName), to.bytes(tool.name), to.special(kArguments),
                        *arguments, to.special(kCallEnd)});
  });
  if (!call) return call;
  return to.sequence({to.special(kCalls), to.several(*call, to.bytes("")), g.optional(to.special(kDone))});
}

Result<Id> calls(CallGrammar& to) {
  auto called = several_calls(to);
  if (!called) return called;
  return to.sequence({thoughts(to), *called});
}

// Thoughts; then words, which calls may follow, or calls.
Result<Id> answer(CallGrammar& to) {
  grammar::Grammar& g = to.grammar();
  auto called = several_calls(to);
  if (!called) return called;
  auto text = to.text_without({std::string(kBegin), std::string(kEnd), std::string(kFlush), std::string(kDone)});
  if (!text) return text;
  const Id after = g.choice({g.optional(to.special(kFlush)), to.sequence({next(to), *called})});
  return to.sequence({thoughts(to), g.choice({to.sequence({to.special(kContent), *text, after}), *called})});
}

Id content(CallGrammar& to, Id text) { return to.sequence({thoughts(to), to.special(kContent), text}); }

}  // namespace

ToolFormat solar_open() {
  return {.name = "solar_open",
          .description = "<|tool_call:begin|>ID<|tool_call:name|>f<|tool_call:args|>{...}, reasoning too: Solar Open",
          .aliases = {},
          .recognise = recognise,
          .markers = {kBegin, kEnd, kFlush, kDone, kThink, kContent, kCalls, kCallBegin, kCallEnd, kName, kArguments},
          .always = true,
          .parser = parser,
          .calls = calls,
          .content = content,
          .answer = answer};
}

}  // namespace millrace::chat::tools::formats
