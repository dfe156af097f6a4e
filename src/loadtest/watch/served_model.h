#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "loadtest/watch/http_get.h"

namespace millrace::loadtest {

// What a server says of the model it serves; 0 and "" where it says nothing.
struct ServedModel {
  std::string id;
  std::int64_t vocabulary = 0;  // ids of prompts are below
  std::int64_t parameters = 0, weight_bytes = 0, kv_bytes_per_token = 0;
  std::int64_t max_length = 0;  // of a request, prompt and answer
};

// Reads /v1/models, and /tokenizer_info where that does not know the vocabulary: the model `wanted`, or the first. The
// keys of vLLM (max_model_len), llama-server (meta) and millrace. kNotFound listing the models where `wanted` is none.
Result<ServedModel> read_served_model(Getter& getter, std::string_view wanted);

}  // namespace millrace::loadtest
