#pragma once

#include <memory>

#include "server/generation.h"

namespace millrace::server {

// The list of embeddings of /v1/embeddings, as numbers or in base64; has no stream. `task` must outlive the format.
std::unique_ptr<AnswerFormat> embedding_format(const GenerationTask& task);

}  // namespace millrace::server
