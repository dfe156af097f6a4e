#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// The response object of /v1/responses and its stream events. `task` must outlive the format.
std::unique_ptr<AnswerFormat> responses_format(const GenerationTask& task);

}  // namespace millrace::server
