#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// Anthropic's message and its events.
std::unique_ptr<AnswerFormat> messages_format(const GenerationTask& task);

}  // namespace millrace::server
