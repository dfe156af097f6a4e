#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::engine {

// What an engine can hold.
struct EngineLimits {
  std::int64_t vocab_size = 0;
  std::int64_t max_length = 0;  // tokens of a sequence, by model and pages
  std::int64_t kv_capacity_tokens = 0;
  std::size_t kv_bytes = 0, kv_bytes_per_token = 0;
};

}  // namespace millrace::engine
