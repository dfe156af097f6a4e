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
  // `factors` divide the frequencies one by one, as GGUF's rope_freqs.weight does; empty = all 1. `context_length` is
  // the model's. Dynamic scaling and longrope (arXiv:2402.13753) depend on a sequence's length. They use the length
  // that it may grow to, `max_length`, so that a token's keys do not depend on when they were computed (law 3 of the
  // architecture); up to the original context length nothing changes.
  Rope(const RopeConfig& config, std::int64_t context_length, std::int64_t max_length, std::span<const float> factors);

  // The `max_length` that stands for all lengths with the rotation of this one; 0 up to the original context, and where
  // length changes nothing.
  static std::int64_t length_of(const RopeConfig& config, std::int64_t context_length, std::int64_t length) noexcept;

  std::int64_t dim() const noexcept { return dim_; }
  // The input of Backend::rotary_table, as a view of this object.
  backend::RotaryAngles angles() const noexcept { return {inverse_frequency_, attention_factor_}; }

 private:
  std::int64_t dim_;
  std::vector<double> inverse_frequency_;
  double attention_factor_ = 1.0;  // multiplies cosines and sines (yarn, longrope)
};

}  // namespace millrace::model
