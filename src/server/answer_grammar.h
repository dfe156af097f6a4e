#pragma once

#include <memory>

#include "chat/answer_grammar.h"
#include "server/api_error.h"
#include "server/generation.h"

namespace millrace::server {

// The grammar that the task's answers must fit: constraint, tool calls and reasoning together. Null: none.
std::shared_ptr<const chat::AnswerGrammar> asked_grammar(const GenerationTask& task);

// Converts an error of EngineClient::compile_grammar(), with the request's field as param:
//   grammar_too_complex  400: beyond grammar::WorkLimits
//   grammar_invalid      400: not a grammar, or not expressible
ApiError grammar_rejection(const Error& error, const GenerationTask& task);

}  // namespace millrace::server
