#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/backend.h"

namespace millrace::backend {

// What one adapter changes of the products of one Linear (LoRA, arXiv:2106.09685): y += s B (A x). A Linear of several
// stacked weights may have it for some of them, each with an A of its own, or one for several. For a Linear of experts,
// A and B have a matrix for each (WeightSource::experts, with factors), and factors and biases are [experts, rows].
struct LowRankSource {
  const Linear* base = nullptr;
  // An A, [rank, k] of an even rank, in any format, with the columns of x in order. `scale` is that of its products.
  struct Shrink {
    WeightSource a;
    float scale = 1.0f;
  };
  // For one stacked weight, with s the scale of the rows: y += s (factor - 1) (y - the base's bias), then y += s bias,
  // then y += s B (A x). `replaces_bias`: y += s (bias - the base's).
  struct Expand {
    static constexpr std::int64_t kInput = -1;
    std::int64_t stacked = 0;  // number of the weight in the Linear
    // Index of its A. kInput: there is none, and B [its rows, k], in any format, is multiplied with x itself. Not of
    // experts.
    std::int64_t shrink = 0;
    WeightSource b = {};  // [its rows, rank of its A] as f32, bf16 or int8_16, multiplied with f32; no rows: none
    // In place of B: numbers of outputs, ascending, to which A x is added in its order. At most its rank.
    std::vector<std::int32_t> outputs = {};
    std::vector<float> factor = {};  // [its rows] or empty: 1. DoRA, arXiv:2402.09353
    std::vector<float> bias = {};    // [its rows] or empty: 0
    bool replaces_bias = false;
  };
  std::vector<Shrink> shrinks;
  std::vector<Expand> expands;
};

// What one adapter adds to the rows of a Linear that gather() reads, numbered as in the Linear: row i gets s (B a[i] +
// d[number of i in ids]).
struct RowDeltaSource {
  const Linear* base = nullptr;
  WeightSource a = {};                 // [n of the base, rank], of an even rank, as f32 or bf16; no rows: none
  WeightSource b = {};                 // [k of the base, rank] as f32 or bf16
  float scale = 1.0f;                  // of B a
  WeightSource d = {};                 // [number of ids, k of the base] as f32 or bf16; no rows: none
  std::vector<std::int32_t> ids = {};  // the rows that have one in d, ascending; empty: all
};

// One of these, packed for the device. Const.
class LowRank {
 public:
  virtual ~LowRank() = default;
  virtual std::size_t packed_bytes() const noexcept = 0;
};

}  // namespace millrace::backend
