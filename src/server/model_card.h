#pragma once

#include "base/json.h"
#include "server/model_host.h"

namespace millrace::server {

// A model as /v1/models shows it: the keys of OpenAI and vLLM, llama-server's `meta`, and the state of loading.
Json model_card(const ModelStatus& status);

}  // namespace millrace::server
