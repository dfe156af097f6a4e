#pragma once

#include <cstdint>

#include "backend/cpu/kernels.h"
#include "backend/cpu/kv_layout.h"

namespace millrace::backend::cpu {

// Stores keys and values into the pages of one layer.
class KvWriter {
 public:
  KvWriter(const KernelSet& kernels, const HostKvPages& kv) noexcept
      : kernels_(kernels), kv_(kv), layout_(layout_of(kv.geometry)) {}

  // Stores the key [Dk] and value [Dv] of one head at a position of a sequence. Different threads may store different
  // heads and positions.
  void write(const SequenceRows& sequence, std::int64_t position, std::int64_t head, const float* key,
             const float* value) const noexcept;

 private:
  // [head_dim] to as many elements with their padding; returns the scale of i8.
  float convert(std::int64_t head_dim, const float* x, std::byte* to) const noexcept;

  const KernelSet& kernels_;
  HostKvPages kv_;
  const KvLayout& layout_;
};

}  // namespace millrace::backend::cpu
