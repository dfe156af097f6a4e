#include "engine/load/text_evaluation.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "engine/load/model_window.h"

namespace millrace::engine::load {
namespace {

// Scores the tokens [first_scored, size) of a window by the logits of the tokens before them.
void score_window(ModelWindow& scored, ModelWindow* reference, std::span<const std::int32_t> window,
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
  ModelWindow scorer(scored, load.window);
  std::optional<ModelWindow> of_reference;
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
