#include "server/answer_grammar.h"

#include "grammar/language.h"
#include "server/tools/call_grammar.h"

namespace millrace::server {
namespace {

using grammar::ExpressionId;
using grammar::Grammar;
using Choice = tools::ToolUse::Choice;

// Everything that the grammar of an answer depends on.
class AnswerGrammar {
 public:
  explicit AnswerGrammar(const GenerationTask& task) : task_(task), use_(task.fields.tool_use) {}

  // Where text is free and calls cannot be told from it, there is nothing to say.
  bool needed() const {
    return task_.fields.constraint || use_.choice == Choice::kRequired ||
           (use_.choice == Choice::kAuto && task_.reading.tools != nullptr && !task_.reading.tools->openers.empty());
  }
  std::string field() const { return task_.fields.constraint ? task_.fields.constraint->field : "tools"; }

  std::string key() const {
    Json key = Json::array();
    if (const auto& constraint = task_.fields.constraint) {
      const grammar::GrammarSource& source = constraint->source;
      key.push_back({source.language, source.text, static_cast<int>(source.white_space), source.ignore_unsupported});
    }
    if (use_.choice != Choice::kNone) {
      Json called = Json::array({static_cast<int>(use_.choice), use_.parallel});
      for (const tools::Tool& tool : use_.tools) called.push_back({tool.name, tool.parameters, tool.strict});
      key.push_back(std::move(called));
    }
    if (task_.reading.tools != nullptr) key.push_back(task_.reading.tools->name);
    if (task_.reading.reasoning != nullptr) {
      key.push_back({task_.reading.reasoning->name, task_.reading.reasoning_begun});
    }
    return dumped(key);
  }

  Result<Grammar> build(grammar::WorkMeter& meter) const {
    Grammar to;
    tools::CallGrammar calls(to, use_, meter);
    auto body = body_of(to, calls, meter);
    if (!body) return body.error();
    to.set_root(after_reasoning(to, calls, *body));
    return to;
  }

 private:
  Result<ExpressionId> body_of(Grammar& to, tools::CallGrammar& calls, grammar::WorkMeter& meter) const {
    std::optional<ExpressionId> text, called;
    if (task_.fields.constraint) {
      auto added = grammar::add_source(to, task_.fields.constraint->source, meter);
      if (!added) return added;
      const tools::ToolFormat* format = task_.reading.tools;
      text = format != nullptr && format->content != nullptr ? format->content(calls, *added) : *added;
    }
    if (use_.choice != Choice::kNone) {
      auto added = task_.reading.tools->calls(calls);
      if (!added) return added;
      called = *added;
    }
    if (!called) return *text;
    if (use_.choice == Choice::kRequired) return *called;
    if (text) return to.choice({*text, *called});
    std::vector<std::u32string> openers;
    for (const std::string_view opener : task_.reading.tools->openers) openers.push_back(tools::code_points(opener));
    const ExpressionId free = to.automaton(grammar::CharAutomaton::without(openers));
    return to.sequence({free, to.optional(to.sequence({*called, calls.space()}))});
  }
  ExpressionId after_reasoning(Grammar& to, tools::CallGrammar& calls, ExpressionId body) const {
    const reasoning::ReasoningFormat* format = task_.reading.reasoning;
    if (format == nullptr) return body;
    const ExpressionId rest = to.sequence({calls.until(format->close), calls.space()});
    if (task_.reading.reasoning_begun) return to.sequence({rest, body});
    return to.sequence({to.optional(to.sequence({calls.space(), to.special(format->open), rest})), body});
  }

  const GenerationTask& task_;
  const tools::ToolUse& use_;
};

ApiError as_api_error(const Error& error, const std::string& field) {
  switch (error.code) {
    case ErrorCode::kResourceExhausted: return {400, "grammar_too_complex", field, error.message};
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported: return {400, "grammar_invalid", field, error.message};
    default: return error;
  }
}

}  // namespace

std::optional<ApiError> add_grammar(GenerationTask& task, const std::atomic<bool>& cancelled) {
  const AnswerGrammar asked(task);
  if (!asked.needed()) return std::nullopt;
  auto compiled = task.model->grammars.get(
      asked.key(), task.caller.tenant_number, [&](grammar::WorkMeter& meter) { return asked.build(meter); },
      &cancelled);
  if (!compiled) return as_api_error(compiled.error(), asked.field());
  for (engine::Request& request : task.requests) request.grammar = *compiled;
  task.left_out = (*compiled)->ignored();
  return std::nullopt;
}

}  // namespace millrace::server
