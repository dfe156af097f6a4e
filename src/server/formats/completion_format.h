#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// text_completion, whole and as chunks.
std::unique_ptr<AnswerFormat> completion_format(const GenerationTask& task);

}  // namespace millrace::server
