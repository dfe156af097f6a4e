#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {

// The safetensors dtypes of such tensors, and the size of a value. F8_E8M0 is an exponent: it counts as one too.
struct IntegerDtype {
  std::string_view name;
  std::int64_t bytes;
};
inline constexpr IntegerDtype kIntegerDtypes[] = {{"I64", 8}, {"I32", 4}, {"U32", 4},  {"I16", 2},
                                                  {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E8M0", 1}};

// Null if it is no dtype of such tensors.
constexpr const IntegerDtype* find_integer_dtype(std::string_view dtype) noexcept {
  for (const IntegerDtype& known : kIntegerDtypes) {
    if (known.name == dtype) return &known;
  }
  return nullptr;
}

// Moves the tensors that have no format from `tensors` to `integers`, which may be null if there are none.
void set_integers_apart(std::vector<RawTensor>& tensors, std::vector<IntegerTensor>* integers);

}  // namespace millrace::checkpoint
