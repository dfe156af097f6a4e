#pragma once

#include <cstddef>

#include "backend/cpu/packed_linear.h"

namespace millrace::model {

// For tests: changes a bit of a weight on the CPU, as bad memory does.
inline void flip_bit(const backend::Linear& weight, std::size_t byte) {
  const backend::cpu::PackedLinear& packed = backend::cpu::packed(&weight);
  const_cast<std::byte*>(packed.view(0).panels)[byte] ^= std::byte{4};
}

}  // namespace millrace::model
