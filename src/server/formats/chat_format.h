#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// chat.completion and its chunks.
std::unique_ptr<AnswerFormat> chat_format(const GenerationTask& task);

}  // namespace millrace::server
