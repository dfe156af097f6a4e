#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// The message object of /v1/messages and its stream events. `task` must outlive the format.
std::unique_ptr<AnswerFormat> messages_format(const GenerationTask& task);

}  // namespace millrace::server
