#pragma once

#include "base/json.h"
#include "server/model_host.h"

namespace millrace::server {

// A model as /v1/models shows it: OpenAI's and vLLM's keys, `meta` as llama-server has it, and what it is doing.
Json model_card(const ModelStatus& status);

}  // namespace millrace::server
