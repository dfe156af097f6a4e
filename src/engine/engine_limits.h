#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::engine {

// Limits of an engine. They do not change after its creation.
struct EngineLimits {
  std::int64_t vocab_size = 0;
  std::int64_t max_length = 0;  // tokens of prompt and answer together: the model's limit, or what all pages hold
  std::int64_t kv_capacity_tokens = 0;
  std::size_t kv_bytes = 0, kv_bytes_per_token = 0;
};

}  // namespace millrace::engine
