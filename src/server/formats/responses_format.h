#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// OpenAI's response object and its events.
std::unique_ptr<AnswerFormat> responses_format(const GenerationTask& task);

}  // namespace millrace::server
