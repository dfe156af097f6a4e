#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// A list of embeddings, as numbers or base64.
std::unique_ptr<AnswerFormat> embedding_format(const GenerationTask& task);

}  // namespace millrace::server
