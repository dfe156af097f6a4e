#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// The format of /v1/chat/completions: chat.completion objects and chunks.
std::unique_ptr<AnswerFormat> chat_format(const GenerationTask& task);

}  // namespace millrace::server
