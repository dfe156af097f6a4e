#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "loadtest/watch/http_get.h"

namespace millrace::loadtest {

// A server's description of the model that it serves; 0 and "" if absent.
struct ServedModel {
  std::string id;
  std::int64_t vocabulary = 0;  // ids of prompts must be below
  std::int64_t parameters = 0, weight_bytes = 0, kv_bytes_per_token = 0;
  std::int64_t max_length = 0;  // limit of a request's prompt and answer together
  std::string server;           // "millrace", "vllm", "sglang", "llama.cpp" or "ollama"; "": none of them
  std::string version;          // of the server, from /version
};

// Reads the model `wanted`, or the first one, from /v1/models, and from /tokenizer_info if that lacks the vocabulary.
// Knows the keys of vLLM (max_model_len), llama-server (meta) and millrace. kNotFound lists the models if `wanted` is
// none of them.
Result<ServedModel> read_served_model(Getter& getter, std::string_view wanted);

}  // namespace millrace::loadtest
