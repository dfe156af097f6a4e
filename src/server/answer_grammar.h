#pragma once

#include <memory>

#include "chat/answer_grammar.h"
#include "server/api_error.h"
#include "server/generation.h"

namespace millrace::server {

// What the answers of a task must fit, as its fields ask for it; null: anything.
std::shared_ptr<const chat::AnswerGrammar> asked_grammar(const GenerationTask& task);

// Why an engine would not compile it, with the request's field as param:
//   grammar_too_complex  400: it takes more than grammar::WorkLimits
//   grammar_invalid      400: it is none, or cannot be expressed
ApiError grammar_rejection(const Error& error, const GenerationTask& task);

}  // namespace millrace::server
