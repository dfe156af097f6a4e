#include "engine/load/text_evaluation.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "kv/block_table.h"
#include "kv/kv_store.h"

namespace millrace::engine::load {
namespace {

// One model with the pages of a window.
class WindowScorer {
 public:
  WindowScorer(const ScoredModel& scored, std::int64_t window)
      : scored_(scored),
        groups_(scored.transformer.kv_groups(scored.pages)),
        pages_(static_cast<std::int32_t>((window + groups_.block_tokens - 1) / groups_.block_tokens)),
        pool_(pages_),
        table_(pool_, groups_.block_tokens),
        store_(kv::KvStore::create(scored.backend, groups_, pages_).or_throw()) {
    table_.reserve(window);
  }
  // The logits of the tokens [first_row, n) of a chunk that begins at position `at`.
  TensorView compute(std::span<const std::int32_t> chunk, std::int64_t at, std::int64_t first_row,
                     std::int64_t end_row) {
    model::BatchInput input;
    input.tokens.assign(chunk.begin(), chunk.end());
    input.sequences = {{.first_row = 0, .n_rows = std::ssize(chunk), .first_position = at, .pages = table_.blocks()}};
    for (std::int64_t i = first_row; i < end_row; ++i) input.logit_rows.push_back(i);
    return scored_.transformer.forward(input, store_);
  }

 private:
  ScoredModel scored_;
  kv::KvGroups groups_;
  std::int32_t pages_;
  kv::BlockPool pool_;
  kv::BlockTable table_;
  kv::KvStore store_;
};

std::span<const float> row_of(const TensorView& logits, std::int64_t i) {
  return {logits.row(i), static_cast<std::size_t>(logits.cols())};
}

// Scores the tokens [first_scored, size) of a window by the logits of the tokens before them.
void score_window(WindowScorer& scored, WindowScorer* reference, std::span<const std::int32_t> window,
                  std::int64_t first_scored, std::int64_t chunk, TextEvaluation& out) {
  for (std::int64_t at = 0; at < std::ssize(window); at += chunk) {
    const std::int64_t n = std::min(chunk, std::ssize(window) - at);
    const auto tokens = window.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(n));
    const std::int64_t first_row = std::clamp<std::int64_t>(first_scored - 1 - at, 0, n);
    const std::int64_t end_row = std::max(first_row, std::min(n, std::ssize(window) - 1 - at));
    const TensorView logits = scored.compute(tokens, at, first_row, end_row);
    const TensorView expected =
        reference == nullptr ? TensorView() : reference->compute(tokens, at, first_row, end_row);
    for (std::int64_t i = 0; i < end_row - first_row; ++i) {
      const std::int32_t token = window[static_cast<std::size_t>(at + first_row + i + 1)];
      out.perplexity.add(row_of(logits, i), token);
      if (reference == nullptr) continue;
      out.reference.add(row_of(expected, i), token);
      out.divergence.add(row_of(expected, i), row_of(logits, i));
    }
  }
}

}  // namespace

TextEvaluation evaluate_text(const ScoredModel& scored, const ScoredModel* reference,
                             std::span<const std::int32_t> tokens, const TextLoad& load) {
  CHECK(load.window >= 2);
  WindowScorer scorer(scored, load.window);
  std::optional<WindowScorer> of_reference;
  if (reference != nullptr) of_reference.emplace(*reference, load.window);
  const std::int64_t before = load.bos ? 1 : 0, of_text = load.window - before;
  const std::int64_t stride = load.stride > 0 ? std::min(load.stride, of_text) : of_text;
  TextEvaluation out;
  std::int64_t scored_end = 0;  // tokens of the text that are behind
  for (std::int64_t begin = 0; begin < std::ssize(tokens) && scored_end < std::ssize(tokens); begin += stride) {
    const std::int64_t n = std::min(of_text, std::ssize(tokens) - begin);
    const auto part = tokens.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(n));
    std::vector<std::int32_t> window;
    if (load.bos) window.push_back(*load.bos);
    window.insert(window.end(), part.begin(), part.end());
    const std::int64_t first_scored = std::max<std::int64_t>(1, before + scored_end - begin);
    if (std::ssize(window) > first_scored) {
      score_window(scorer, of_reference ? &*of_reference : nullptr, window, first_scored, load.chunk, out);
    }
    scored_end = begin + n;
  }
  return out;
}

}  // namespace millrace::engine::load
