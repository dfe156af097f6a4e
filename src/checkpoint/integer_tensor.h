#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {

// Bytes of one value; 0: not a dtype of such tensors. `dtype` as safetensors calls it.
constexpr std::int64_t integer_bytes(std::string_view dtype) noexcept {
  return dtype == "I64" ? 8 : dtype == "I32" ? 4 : dtype == "U8" || dtype == "BOOL" ? 1 : 0;
}

// Moves the tensors without a format to `integers`, which may be null where there are none.
void set_integers_apart(std::vector<RawTensor>& tensors, std::vector<IntegerTensor>* integers);

}  // namespace millrace::checkpoint
