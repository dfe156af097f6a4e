#include "model/model_work.h"

#include <algorithm>

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

ModelWork::ModelWork(const model::ModelSpec& spec) : spec_(spec) {
  const auto hidden = static_cast<double>(spec.hidden_size);
  for (const model::LayerSpec& layer : spec.layers) {
    const auto q = static_cast<double>(layer.attention.heads * layer.attention.head_dim);
    const auto kv = static_cast<double>(layer.attention.kv_heads * layer.attention.head_dim);
    const auto width = static_cast<double>(layer.mlp.width);
    layer_operations_ += 2.0 * hidden * (q + 2.0 * kv + q + (layer.mlp.gated ? 3.0 : 2.0) * width);
  }
  head_operations_ = 2.0 * hidden * static_cast<double>(spec.vocab_size);
}

double ModelWork::operations(std::int64_t first, std::int64_t last) const {
  double attention = 0.0;
  for (const model::LayerSpec& layer : spec_.layers) {
    const auto q = static_cast<double>(layer.attention.heads * layer.attention.head_dim);
    attention += 4.0 * q * visible_sum(first, last, layer.attention.window);
  }
  return static_cast<double>(last - first) * layer_operations_ + head_operations_ + attention;
}

double ModelWork::kv_bytes(std::int64_t first, std::int64_t last, double kv_bytes_per_token) const {
  double tokens = 0.0;
  for (const model::LayerSpec& layer : spec_.layers) tokens += visible_sum(first, last, layer.attention.window);
  return spec_.layers.empty() ? 0.0 : tokens / static_cast<double>(spec_.layers.size()) * kv_bytes_per_token;
}

}  // namespace millrace::model
