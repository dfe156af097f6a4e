#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// The format of OpenAI's /v1/responses: response objects and events.
std::unique_ptr<AnswerFormat> responses_format(const GenerationTask& task);

}  // namespace millrace::server
