#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "backend/backend.h"
#include "kv/block_pool.h"
#include "kv/block_table.h"
#include "kv/kv_store.h"
#include "model/transformer.h"

namespace millrace::engine::load {

// A model at work on a text. Computes on the calling thread and the backend's; the transformer must not be used
// meanwhile.
struct ScoredModel {
  model::Transformer& transformer;
  backend::Backend& backend;
  backend::KvFormat pages = {};  // of the KV cache
};

// One sequence of a model, with pages for `tokens` tokens, at most the model's max_length. One thread.
class ModelWindow {
 public:
  // Throws LoadError (kResourceExhausted) if memory for the pages is short.
  ModelWindow(const ScoredModel& scored, std::int64_t tokens);

  // Computes a chunk that begins at position `at`; all before it must have been computed, and what was behind it is
  // forgotten. Returns the logits [end_row - first_row, V] of its rows [first_row, end_row), valid until the next call.
  TensorView compute(std::span<const std::int32_t> chunk, std::int64_t at, std::int64_t first_row,
                     std::int64_t end_row);

 private:
  ScoredModel scored_;
  kv::KvGroups groups_;
  std::int64_t rope_length_;
  std::int32_t pages_;
  kv::BlockPool pool_;
  kv::BlockTable table_;
  kv::KvStore store_;
};

// Row i of logits [n, V].
inline std::span<const float> row_of(const TensorView& logits, std::int64_t i) {
  return {logits.row(i), static_cast<std::size_t>(logits.cols())};
}

}  // namespace millrace::engine::load
