// all and a text, or f and its arguments, each on a line after >>>, which the prompt ends with: Functionary v3.2.

#include "chat/tools/call_grammar.h"
#include "chat/tools/recipient_parser.h"

namespace millrace::chat::tools::formats {
namespace {

constexpr std::int64_t kMaxSearch = 50'000;  // edges

int recognise(std::string_view chat_template) { return 3 * (chat_template.find(">>>all") != std::string_view::npos); }

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return recipient_parser({.head_end = "\n", .next = ">>>"}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    return to.sequence({to.bytes(tool.name + "\n"), *arguments});
  });
  if (!call) return call;
  return to.several(*call, to.bytes(">>>"));
}

// To everybody, until ">>>" and the name of a function begin a call. To look for many long names would take more than
// all the rest: then what comes behind text is free.
Result<grammar::ExpressionId> answer(CallGrammar& to) {
  auto called = calls(to);
  if (!called) return called;
  std::vector<std::string> begun;
  std::vector<std::u32string> words;
  for (const Tool& tool : to.use().tools) {
    begun.push_back(">>>" + tool.name + "\n");
    words.push_back(code_points(begun.back()));
  }
  if (grammar::CharAutomaton::search_cost(words) > kMaxSearch) begun.clear();
  auto text = to.text_without(begun);
  if (!text) return text;
  const auto then = to.grammar().optional(to.sequence({to.bytes(">>>"), *called}));
  return to.grammar().choice({*called, to.sequence({to.bytes("all\n"), *text, then})});
}

}  // namespace

ToolFormat functionary_v3() {
  return {.name = "functionary_v3",
          .description = "f and its arguments on a line each, >>> between: Functionary v3.2",
          .aliases = {"functionary", "functionary_v3_2"},
          .recognise = recognise,
          .markers = {},
          .always = true,
          .parser = parser,
          .calls = calls,
          .answer = answer};
}

}  // namespace millrace::chat::tools::formats
