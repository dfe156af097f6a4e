#pragma once

#include <vector>

#include "base/json.h"
#include "server/caller.h"
#include "server/model_host.h"

namespace millrace::server {

// A model as /v1/models shows it: keys of OpenAI and vLLM, `status` and, while the model loads, `progress`. A loaded
// model also has max_model_len, llama-server's `meta`, in it how weights, keys and values are stored, and
// `sampling_defaults`: what its authors sample with.
Json model_card(const ModelStatus& status);
// Its adapters that the caller may use, as vLLM shows them: `parent` is the model, `root` the adapter's directory.
// `meta` has what they are, `generation`, which counts the versions of the name from 1, and whether they are in memory.
std::vector<Json> adapter_cards(const ModelStatus& status, const Caller& caller);

}  // namespace millrace::server
