#include "model/model_work.h"

#include <algorithm>

#include "model/block.h"

namespace millrace::model {
namespace {

// Sum over positions [first, last) of min(position + 1, window).
double visible_sum(std::int64_t first, std::int64_t last, std::int64_t window) {
  const auto triangle = [](std::int64_t n) { return static_cast<double>(n) * static_cast<double>(n + 1) / 2.0; };
  if (window <= 0) return triangle(last) - triangle(first);
  const std::int64_t full = std::clamp(window, first, last);  // from here on the window is full
  return triangle(full) - triangle(first) + static_cast<double>(last - full) * static_cast<double>(window);
}

}  // namespace

ModelWork::ModelWork(const ModelSpec& spec) {
  for (const LayerSpec& layer : spec.layers) {
    for (const BlockSpec& block : layer.blocks) {
      const BlockKind& kind = kind_of(block);
      const BlockWork work = kind.work(block, spec);
      layer_operations_ += work.operations;
      const auto need = kind.kv(block);
      if (!need) continue;
      const auto dims = static_cast<double>(need->kv_heads * (need->key_dim + need->value_dim));
      reads_.push_back({.window = need->window, .operations_per_key = work.operations_per_key, .weight = dims});
      total_weight_ += dims;
    }
  }
  head_operations_ = 2.0 * static_cast<double>(spec.hidden_size) * static_cast<double>(spec.vocab_size);
}

double ModelWork::operations(std::int64_t first, std::int64_t last) const {
  double attention = 0.0;
  for (const Reads& layer : reads_) attention += layer.operations_per_key * visible_sum(first, last, layer.window);
  return static_cast<double>(last - first) * layer_operations_ + head_operations_ + attention;
}

double ModelWork::kv_bytes(std::int64_t first, std::int64_t last, double kv_bytes_per_token) const {
  double tokens = 0.0;
  for (const Reads& layer : reads_) tokens += layer.weight * visible_sum(first, last, layer.window);
  return reads_.empty() ? 0.0 : tokens / total_weight_ * kv_bytes_per_token;
}

}  // namespace millrace::model
