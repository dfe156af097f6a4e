#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// The format of /v1/completions: text_completion objects, whole or as chunks.
std::unique_ptr<AnswerFormat> completion_format(const GenerationTask& task);

}  // namespace millrace::server
