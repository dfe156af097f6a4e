#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {

// Size of one value of a safetensors dtype in bytes; 0 if it is no dtype of such tensors.
constexpr std::int64_t integer_bytes(std::string_view dtype) noexcept {
  return dtype == "I64" ? 8 : dtype == "I32" ? 4 : dtype == "U8" || dtype == "BOOL" ? 1 : 0;
}

// Moves the tensors that have no format from `tensors` to `integers`, which may be null if there are none.
void set_integers_apart(std::vector<RawTensor>& tensors, std::vector<IntegerTensor>* integers);

}  // namespace millrace::checkpoint
