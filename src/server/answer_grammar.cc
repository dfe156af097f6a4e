#include "server/answer_grammar.h"

namespace millrace::server {

std::shared_ptr<const chat::AnswerGrammar> asked_grammar(const GenerationTask& task) {
  const auto& constraint = task.fields.constraint;
  const bool calls = task.fields.tool_use.choice != chat::tools::ToolUse::Choice::kNone;
  if (!constraint && !calls) return nullptr;
  chat::AnswerGrammar asked;
  if (constraint) asked.constraint = constraint->source;
  if (calls) asked.tool_use = task.fields.tool_use;
  if (task.reading.tools != nullptr) asked.tool_format = task.reading.tools->name;
  if (task.reading.reasoning != nullptr) {
    asked.reasoning_format = task.reading.reasoning->name;
    asked.reasoning_begun = task.reading.reasoning_begun;
  }
  return std::make_shared<const chat::AnswerGrammar>(std::move(asked));
}

ApiError grammar_rejection(const Error& error, const GenerationTask& task) {
  const std::string field = task.fields.constraint ? task.fields.constraint->field : "tools";
  switch (error.code) {
    case ErrorCode::kResourceExhausted: return {400, "grammar_too_complex", field, error.message};
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported: return {400, "grammar_invalid", field, error.message};
    default: return error;
  }
}

}  // namespace millrace::server
