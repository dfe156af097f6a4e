#include "engine/load/text_perplexity.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "kv/block_table.h"
#include "kv/kv_store.h"

namespace millrace::engine::load {
namespace {

// The tokens of one window, a chunk a step.
void score_window(model::Transformer& transformer, const kv::KvStore& store, std::span<const std::int32_t> pages,
                  std::span<const std::int32_t> window, std::int64_t chunk, decode::Perplexity& perplexity) {
  for (std::int64_t at = 0; at < std::ssize(window); at += chunk) {
    const std::int64_t n = std::min(chunk, std::ssize(window) - at);
    const auto step = window.subspan(static_cast<std::size_t>(at));
    model::BatchInput input;
    input.tokens.assign(step.begin(), step.begin() + n);
    input.sequences = {{.first_row = 0, .n_rows = n, .first_position = at, .pages = pages}};
    for (std::int64_t i = 0; i < n && i + 1 < std::ssize(step); ++i) input.logit_rows.push_back(i);
    const TensorView logits = transformer.forward(input, store);
    for (std::size_t i = 0; i < input.logit_rows.size(); ++i) {
      const float* row = logits.row(static_cast<std::int64_t>(i));
      perplexity.add({row, static_cast<std::size_t>(logits.cols())}, step[i + 1]);
    }
  }
}

}  // namespace

decode::Perplexity measure_perplexity(model::Transformer& transformer, backend::Backend& backend,
                                      std::span<const std::int32_t> tokens, const PerplexityLoad& load) {
  const kv::KvGroups groups = transformer.kv_groups(load.pages);
  const auto pages = static_cast<std::int32_t>((load.window + groups.block_tokens - 1) / groups.block_tokens);
  kv::BlockPool pool(pages);
  kv::BlockTable table(pool, groups.block_tokens);
  const kv::KvStore store = kv::KvStore::create(backend, groups, pages).or_throw();
  table.reserve(load.window);
  decode::Perplexity perplexity;
  CHECK(load.window >= 2);
  const std::int64_t of_text = load.window - (load.bos ? 1 : 0);
  for (std::int64_t begin = 0; begin < std::ssize(tokens); begin += of_text) {
    const std::int64_t n = std::min(of_text, std::ssize(tokens) - begin);
    const auto part = tokens.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(n));
    std::vector<std::int32_t> window;
    if (load.bos) window.push_back(*load.bos);
    window.insert(window.end(), part.begin(), part.end());
    if (window.size() > 1) score_window(transformer, store, table.blocks(), window, load.chunk, perplexity);
  }
  return perplexity;
}

}  // namespace millrace::engine::load
