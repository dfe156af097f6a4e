#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/backend.h"

namespace millrace::backend {

// What one adapter adds to one Linear (LoRA, arXiv:2106.09685): y += scale * B (A x). A Linear of several stacked
// weights may have it for some of them, each with an A of its own, or one for several.
struct LowRankSource {
  const Linear* base = nullptr;
  // An A, [rank, k] of an even rank, in any format, with the columns of x in order. `scale` is that of its products.
  struct Shrink {
    WeightSource a;
    float scale = 1.0f;
  };
  // The B of a stacked weight, [its rows, rank of its A] as f32 or bf16. Multiplied in f32.
  struct Expand {
    std::int64_t stacked = 0;  // number of the weight in the Linear
    std::int64_t shrink = 0;   // index of its A
    WeightSource b;
  };
  std::vector<Shrink> shrinks;
  std::vector<Expand> expands;
};

// The same, packed for the device. Const.
class LowRank {
 public:
  virtual ~LowRank() = default;
  virtual std::size_t packed_bytes() const noexcept = 0;
};

}  // namespace millrace::backend
