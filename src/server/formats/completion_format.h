#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// The object text_completion of /v1/completions, whole and as chunks. `task` must outlive the format.
std::unique_ptr<AnswerFormat> completion_format(const GenerationTask& task);

}  // namespace millrace::server
