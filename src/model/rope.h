#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "model/config/model_config.h"

namespace millrace::model {

// Rotary position embedding (arXiv:2104.09864) with the scalings of Hugging Face's modeling_rope_utils: linear, dynamic
// NTK, yarn (arXiv:2309.00071) and llama3. Angles are computed in double.
class Rope {
 public:
  // `factors` divides the frequencies one by one, as GGUF's rope_freqs.weight; empty = all 1. `context_length` is the
  // model's. Dynamic scaling depends on how long a sequence gets. So that a token's keys do not depend on when they
  // were computed (law 3) it takes the greatest length that is allowed, `max_length`: nothing changes up to the
  // original context.
  Rope(double theta, std::int64_t dim, const RopeScaling& scaling, std::int64_t context_length, std::int64_t max_length,
       std::span<const float> factors);

  std::int64_t dim() const noexcept { return dim_; }
  // What Backend::rotary_table makes cosines and sines of. Borrowed.
  backend::RotaryAngles angles() const noexcept { return {inverse_frequency_, attention_factor_}; }

 private:
  std::int64_t dim_;
  std::vector<double> inverse_frequency_;
  double attention_factor_ = 1.0;  // multiplies cosines and sines (yarn)
};

}  // namespace millrace::model
