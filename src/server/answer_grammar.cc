#include "server/answer_grammar.h"

#include "chat/tools/call_grammar.h"
#include "grammar/language.h"

namespace millrace::server {
namespace {

using grammar::ExpressionId;
using grammar::Grammar;
using Choice = chat::tools::ToolUse::Choice;

// Everything that the grammar of an answer depends on.
class AnswerGrammar {
 public:
  explicit AnswerGrammar(const GenerationTask& task) : task_(task), use_(task.fields.tool_use) {}

  bool needed() const { return task_.fields.constraint || use_.choice != Choice::kNone; }
  std::string field() const { return task_.fields.constraint ? task_.fields.constraint->field : "tools"; }

  std::string key() const {
    Json key = Json::array();
    if (const auto& constraint = task_.fields.constraint) {
      const grammar::GrammarSource& source = constraint->source;
      key.push_back({source.language, source.text, static_cast<int>(source.white_space), source.ignore_unsupported});
    }
    if (use_.choice != Choice::kNone) {
      Json called = Json::array({static_cast<int>(use_.choice), use_.parallel});
      for (const chat::tools::Tool& tool : use_.tools) called.push_back({tool.name, tool.parameters, tool.strict});
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
    chat::tools::CallGrammar calls(to, use_, meter);
    auto body = body_of(to, calls, meter);
    if (!body) return body.error();
    to.set_root(after_reasoning(to, calls, *body));
    return to;
  }

 private:
  Result<ExpressionId> body_of(Grammar& to, chat::tools::CallGrammar& calls, grammar::WorkMeter& meter) const {
    std::optional<ExpressionId> text;
    if (task_.fields.constraint) {
      auto added = grammar::add_source(to, task_.fields.constraint->source, meter);
      if (!added) return added;
      const chat::tools::ToolFormat* format = task_.reading.tools;
      text = format != nullptr && format->content != nullptr ? format->content(calls, *added) : *added;
    }
    if (use_.choice == Choice::kNone) return *text;
    const chat::tools::ToolFormat& format = *task_.reading.tools;
    if (use_.choice == Choice::kAuto && !text && format.answer != nullptr) return format.answer(calls);
    const auto alone = format.calls(calls);
    if (!alone) return alone;
    const ExpressionId marked = format.begins_with == 0 ? *alone : with_markers(to, calls, *alone);
    const ExpressionId called = format.begins_with == 0 ? *alone : to.choice({*alone, marked});
    if (use_.choice == Choice::kRequired) return called;
    if (text) return to.choice({*text, called});
    // Text is free up to what begins a call.
    const auto free = calls.text_without({format.openers.begin(), format.openers.end()}, format.begins_with);
    if (!free) return free;
    const ExpressionId answer = to.sequence({*free, to.optional(to.sequence({marked, calls.space()}))});
    if (format.begins_with == 0) return answer;
    return to.choice({answer, to.sequence({calls.space(), *alone, calls.space()})});
  }
  ExpressionId with_markers(Grammar& to, chat::tools::CallGrammar& calls, ExpressionId alone) const {
    const chat::tools::ToolFormat& format = *task_.reading.tools;
    std::vector<ExpressionId> openers;
    for (const std::string_view opener : format.openers) openers.push_back(to.special(opener));
    std::vector<ExpressionId> parts = {to.choice(std::move(openers)), calls.space(), alone};
    if (!format.closer.empty()) parts.insert(parts.end(), {calls.space(), to.special(format.closer)});
    return to.sequence(std::move(parts));
  }
  ExpressionId after_reasoning(Grammar& to, chat::tools::CallGrammar& calls, ExpressionId body) const {
    const chat::reasoning::ReasoningFormat* format = task_.reading.reasoning;
    if (format == nullptr) return body;
    const ExpressionId rest = to.sequence({calls.until(format->close), calls.space()});
    if (task_.reading.reasoning_begun) return to.sequence({rest, body});
    return to.sequence({to.optional(to.sequence({calls.space(), to.special(format->open), rest})), body});
  }

  const GenerationTask& task_;
  const chat::tools::ToolUse& use_;
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
