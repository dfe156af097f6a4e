#include "chat/answer_grammar.h"

#include "chat/reasoning/reasoning_format.h"
#include "chat/tools/call_grammar.h"
#include "chat/tools/tool_format.h"

namespace millrace::chat {
namespace {

using grammar::ExpressionId;
using grammar::Grammar;
using Choice = tools::ToolUse::Choice;

// Writes an answer's parts into one grammar, in the order in which they come.
class GrammarBuilder {
 public:
  // Formats: null where there is none.
  GrammarBuilder(const AnswerGrammar& source, const tools::ToolFormat* tools,
                 const reasoning::ReasoningFormat* reasoning)
      : source_(source), use_(source.tool_use), tools_(tools), reasoning_(reasoning) {}

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
    std::optional<ExpressionId> text;
    if (source_.constraint) {
      auto added = grammar::add_source(to, *source_.constraint, meter);
      if (!added) return added;
      text = tools_ != nullptr && tools_->content != nullptr ? tools_->content(calls, *added) : *added;
    }
    if (use_.choice == Choice::kNone) return *text;
    const tools::ToolFormat& format = *tools_;
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
  ExpressionId with_markers(Grammar& to, tools::CallGrammar& calls, ExpressionId alone) const {
    const tools::ToolFormat& format = *tools_;
    std::vector<ExpressionId> openers;
    for (const std::string_view opener : format.openers) openers.push_back(to.special(opener));
    std::vector<ExpressionId> parts = {to.choice(std::move(openers)), calls.space(), alone};
    if (!format.closer.empty()) parts.insert(parts.end(), {calls.space(), to.special(format.closer)});
    return to.sequence(std::move(parts));
  }
  ExpressionId after_reasoning(Grammar& to, tools::CallGrammar& calls, ExpressionId body) const {
    if (reasoning_ == nullptr) return body;
    if (!reasoning_->answer_open.empty()) {
      body = to.choice({body, to.sequence({to.special(reasoning_->answer_open), calls.space(), body, calls.space(),
                                           to.special(reasoning_->answer_close)})});
    }
    const ExpressionId rest = to.sequence({calls.until(reasoning_->close), calls.space()});
    if (source_.reasoning_begun) return to.sequence({rest, body});
    return to.sequence({to.optional(to.sequence({calls.space(), to.special(reasoning_->open), rest})), body});
  }

  const AnswerGrammar& source_;
  const tools::ToolUse& use_;
  const tools::ToolFormat* const tools_;
  const reasoning::ReasoningFormat* const reasoning_;
};

}  // namespace

std::string AnswerGrammar::key() const {
  Json key = Json::array();
  if (constraint) {
    key.push_back({constraint->language, constraint->text, static_cast<int>(constraint->white_space),
                   constraint->ignore_unsupported});
  }
  if (tool_use.choice != Choice::kNone) {
    Json called = Json::array({static_cast<int>(tool_use.choice), tool_use.parallel});
    for (const tools::Tool& tool : tool_use.tools) called.push_back({tool.name, tool.parameters, tool.strict});
    key.push_back(std::move(called));
  }
  if (!tool_format.empty()) key.push_back(tool_format);
  if (!reasoning_format.empty()) key.push_back({reasoning_format, reasoning_begun});
  return dumped(key);
}

Result<Grammar> build_grammar(const AnswerGrammar& source, grammar::WorkMeter& meter) {
  const tools::ToolFormat* tool_format = nullptr;
  if (!source.tool_format.empty()) {
    const auto found = tools::find_tool_format(source.tool_format);
    if (!found) return found.error();
    tool_format = *found;
  }
  const reasoning::ReasoningFormat* reasoning_format = nullptr;
  if (!source.reasoning_format.empty()) {
    const auto found = reasoning::find_reasoning_format(source.reasoning_format);
    if (!found) return found.error();
    reasoning_format = *found;
  }
  const bool calls = source.tool_use.choice != Choice::kNone;
  if ((calls && tool_format == nullptr) || (!calls && !source.constraint)) {
    return make_error(ErrorCode::kInvalidArgument, "grammar", "{}",
                      calls ? "the grammar asks for calls in no format" : "the grammar asks for nothing");
  }
  return GrammarBuilder(source, tool_format, reasoning_format).build(meter);
}

Result<std::shared_ptr<grammar::CompiledGrammar>> compiled_grammar(grammar::GrammarCache& cache,
                                                                   const AnswerGrammar& source, std::uint32_t tenant,
                                                                   const std::atomic<bool>* cancelled) {
  const auto build = [&](grammar::WorkMeter& meter) { return build_grammar(source, meter); };
  return cache.get(source.key(), tenant, build, cancelled);
}

}  // namespace millrace::chat
