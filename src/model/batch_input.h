#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"

namespace millrace::model {

// What one step computes: T tokens of any mix of sequences, prefill chunks and decode tokens alike.
struct BatchInput {
  std::vector<std::int32_t> tokens;              // [T], ids below vocab_size
  std::vector<backend::SequenceRows> sequences;  // consecutive rows each; together they cover [0, T)
  std::vector<std::int64_t> logit_rows;          // rows whose logits are wanted, ascending
};

}  // namespace millrace::model
