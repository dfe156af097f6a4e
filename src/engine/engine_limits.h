#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::engine {

// Limits of an engine, constant in its lifetime.
struct EngineLimits {
  std::int64_t vocab_size = 0;
  std::int64_t max_length = 0;                       // tokens of a sequence, prompt and answer, by model and KV cache
  std::int64_t kv_capacity_tokens = 0;               // tokens of the KV cache
  std::size_t kv_bytes = 0, kv_bytes_per_token = 0;  // of all layers
};

}  // namespace millrace::engine
