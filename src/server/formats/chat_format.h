#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// The object chat.completion of /v1/chat/completions, and its chunks. `task` must outlive the format.
std::unique_ptr<AnswerFormat> chat_format(const GenerationTask& task);

}  // namespace millrace::server
