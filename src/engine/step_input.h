#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "decode/token_score.h"
#include "kv/page_device.h"
#include "tensor/view.h"

namespace millrace::engine {

// What one step computes, as a value: T tokens of any mix of sequences, prefill chunks and decode tokens alike. It can
// be sent to an executor in another process, byte for byte.
struct StepInput {
  // Consecutive rows of one sequence; together they cover [0, T).
  struct Rows {
    std::int64_t first_row = 0, n_rows = 0;
    std::int64_t first_position = 0;
    std::vector<kv::BlockId> pages;  // of all its positions
  };
  // A row whose logits score a token and the likeliest few beside it.
  struct Scored {
    std::int64_t row = 0;
    std::int32_t token = 0;
    int top = 0;  // [0, decode::kMaxLogprobs]
  };

  std::vector<std::int32_t> tokens;       // [T], ids below vocab_size
  std::vector<Rows> sequences;            // in the order of their rows
  std::vector<std::int64_t> logit_rows;   // rows whose logits are wanted, ascending
  std::vector<Scored> scored_rows;        // ascending by row
  std::vector<std::int64_t> hidden_rows;  // rows whose final hidden states are wanted, ascending
};

// What came of it. [T, V] logits are never kept: of scored rows the scores alone are.
struct StepResult {
  TensorView logits;                                      // [logit_rows, V] f32, valid until the next launch
  std::vector<std::optional<decode::TokenScore>> scores;  // [scored_rows]; nothing where the logits are no numbers
  std::vector<float> hidden;                              // [hidden_rows, E], outputs of the final norm
};

template <typename Archive>
void visit_fields(Archive& archive, StepInput::Rows& rows) {
  archive(rows.first_row, rows.n_rows, rows.first_position, rows.pages);
}
template <typename Archive>
void visit_fields(Archive& archive, StepInput::Scored& scored) {
  archive(scored.row, scored.token, scored.top);
}
template <typename Archive>
void visit_fields(Archive& archive, StepInput& input) {
  archive(input.tokens, input.sequences, input.logit_rows, input.scored_rows, input.hidden_rows);
}

}  // namespace millrace::engine
