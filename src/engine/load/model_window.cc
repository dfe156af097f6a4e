#include "engine/load/model_window.h"

namespace millrace::engine::load {

ModelWindow::ModelWindow(const ScoredModel& scored, std::int64_t tokens)
    : scored_(scored),
      groups_(scored.transformer.kv_groups(scored.pages)),
      rope_length_(scored.transformer.rope_length(tokens)),
      pages_(static_cast<std::int32_t>((tokens + groups_.block_tokens - 1) / groups_.block_tokens)),
      pool_(pages_),
      table_(pool_, groups_.block_tokens),
      store_(scored.transformer.make_store(scored.pages, pages_).or_throw()) {
  table_.reserve(tokens);
}

TensorView ModelWindow::compute(std::span<const std::int32_t> chunk, std::int64_t at, std::int64_t first_row,
                                std::int64_t end_row) {
  model::BatchInput input;
  input.tokens.assign(chunk.begin(), chunk.end());
  input.sequences = {{.first_row = 0, .n_rows = std::ssize(chunk), .first_position = at, .pages = table_.blocks()}};
  input.rope_lengths = {rope_length_};
  for (std::int64_t i = first_row; i < end_row; ++i) input.logit_rows.push_back(i);
  return scored_.transformer.forward(input, store_);
}

}  // namespace millrace::engine::load
