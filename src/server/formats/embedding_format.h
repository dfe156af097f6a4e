#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// The format of /v1/embeddings: a list of vectors, as numbers or base64.
std::unique_ptr<AnswerFormat> embedding_format(const GenerationTask& task);

}  // namespace millrace::server
