#pragma once

#include <memory>

#include "chat/answer_grammar.h"
#include "server/api_error.h"
#include "server/generation.h"

namespace millrace::server {

// The grammar source for the answers of a task: its constraint, its tools, and the formats in which its model writes
// calls and reasoning. Null where the task has neither a constraint nor tools that may be called. Reads task.fields and
// task.reading, so TaskReader::prepare() must have filled the task.
std::shared_ptr<const chat::AnswerGrammar> asked_grammar(const GenerationTask& task);

// The client's error for `error`, with which an engine rejected the task's grammar. Its param is the field of the
// constraint, or "tools".
//   kResourceExhausted              400 grammar_too_complex: compiling takes more than grammar::WorkLimits
//   kInvalidArgument, kUnsupported  400 grammar_invalid: the source is wrong, or no grammar can express it
//   others                          as ApiError(error) has them, with the param of `error`
ApiError grammar_rejection(const Error& error, const GenerationTask& task);

}  // namespace millrace::server
