#pragma once

#include <cstdint>

#include "backend/cpu/kv_encoding.h"
#include "backend/cpu/kv_overflows.h"

namespace millrace::backend::cpu {

// Stores keys and values into the pages of one layer.
class KvWriter {
 public:
  // What does not fit is reported to `overflows`, unless it is null.
  KvWriter(const KernelSet& kernels, const HostKvPages& kv, KvOverflows* overflows = nullptr) noexcept
      : kernels_(kernels),
        kv_(kv),
        overflows_(overflows),
        encoding_(encoding_of(kv.geometry)),
        layout_(layout_of(kv.geometry)) {}

  // Stores the key [Dk] and value [Dv] of one head at a position of a sequence. Different threads may store different
  // heads and positions.
  void write(const SequenceRows& sequence, std::int64_t position, std::int64_t head, const float* key,
             const float* value) const noexcept;

 private:
  void report(std::int32_t page, std::int64_t position, std::int64_t head, const float* key, const float* value) const;

  const KernelSet& kernels_;
  HostKvPages kv_;
  KvOverflows* overflows_;
  const KvEncoding& encoding_;
  const KvLayout& layout_;
};

}  // namespace millrace::backend::cpu
