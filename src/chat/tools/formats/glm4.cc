// f, a line feed and the arguments as JSON, the whole answer; further calls after <|assistant|>: GLM-4 and GLM-4-0414.

#include "chat/tools/call_grammar.h"
#include "chat/tools/recipient_parser.h"

namespace millrace::chat::tools::formats {
namespace {

constexpr std::string_view kNext = "<|assistant|>";
constexpr std::int64_t kMaxSearch = 50'000;  // edges

int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 2 * (has("<|observation|>") && has("[gMASK]") && has("tools") && !has("<tool_call>"));
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return recipient_parser({.head_end = "\n", .next = std::string(kNext), .everybody = ""}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    return to.sequence({to.bytes(tool.name + "\n"), *arguments});
  });
  if (!call) return call;
  return to.several(*call, to.special(kNext));
}

// Calls, or text after an empty line for the name, which may be followed by calls. Text with a function's name before
// a line that begins with a brace would be taken for one where it begins the answer, so it is ruled out everywhere. To
// look for many long names would take more than all the rest: then text is free.
Result<grammar::ExpressionId> answer(CallGrammar& to) {
  auto called = calls(to);
  if (!called) return called;
  std::vector<std::string> begun = {std::string(kNext)};
  std::vector<std::u32string> words;
  for (const Tool& tool : to.use().tools) {
    begun.push_back(tool.name + "\n{");
    words.push_back(code_points(begun.back()));
  }
  if (grammar::CharAutomaton::search_cost(words) > kMaxSearch) begun.resize(1);
  auto text = to.text_without(begun);
  if (!text) return text;
  const auto then = to.grammar().optional(to.sequence({to.special(kNext), *called}));
  return to.grammar().choice({*called, to.sequence({*text, then})});
}

}  // namespace

ToolFormat glm4() {
  return {.name = "glm4",
          .description = "f and its arguments on a line each, <|assistant|> between: GLM-4",
          .aliases = {},
          .recognise = recognise,
          .markers = {kNext},
          .parser = parser,
          .calls = calls,
          .answer = answer};
}

}  // namespace millrace::chat::tools::formats
