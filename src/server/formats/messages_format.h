#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// The format of Anthropic's /v1/messages: message objects and events.
std::unique_ptr<AnswerFormat> messages_format(const GenerationTask& task);

}  // namespace millrace::server
