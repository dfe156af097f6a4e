#include "model/layer_stack.h"

#include <algorithm>

namespace millrace::model {

StackWorkspace stack_workspace(const ModelSpec& spec) {
  StackWorkspace most;
  for (const LayerSpec& layer : spec.layers) {
    for (const BlockSpec& block : layer.blocks) {
      const BlockWorkspace needed = kind_of(block).workspace(block);
      std::int64_t columns = 0;
      for (const std::int64_t part : needed.columns) columns += RowSpace::padded(part);
      most.columns = std::max(most.columns, columns);
      most.ffn = std::max(most.ffn, needed.ffn);
    }
  }
  return most;
}

LayerStack::LayerStack(WeightLoader& weights, const ModelSpec& spec, backend::Backend& backend,
                       backend::MatmulPrecision precision, const std::function<void(std::int64_t layer)>& before) {
  BlockLoader loader(weights, spec, backend, precision);
  std::int64_t kv_layers = 0;
  for (const LayerSpec& layer : spec.layers) {
    if (before) before(size());
    loader.set_layer(size());
    std::vector<Entry>& entries = layers_.emplace_back();
    for (const BlockSpec& block : layer.blocks) {
      const BlockKind& kind = kind_of(block);
      const std::int64_t kv_layer = kind.kv(block) ? kv_layers++ : -1;
      entries.push_back({.block = kind.load(block, loader), .kv_layer = kv_layer});
    }
  }
}

void LayerStack::run(backend::Backend& backend, std::int64_t layer, const BlockRows& rows,
                     const kv::KvStore& store) const {
  for (const Entry& entry : layers_[static_cast<std::size_t>(layer)]) {
    entry.block->run(backend, rows, entry.kv_layer < 0 ? backend::KvPages{} : store.layer(entry.kv_layer));
  }
}

std::vector<backend::Linear*> LayerStack::linears() const {
  std::vector<backend::Linear*> all;
  for (const auto& layer : layers_) {
    for (const Entry& entry : layer) {
      for (backend::Linear* linear : entry.block->linears()) all.push_back(linear);
    }
  }
  return all;
}

std::size_t LayerStack::weight_bytes_per_token() const noexcept {
  std::size_t bytes = 0;
  for (const auto& layer : layers_) {
    for (const Entry& entry : layer) bytes += entry.block->weight_bytes_per_token();
  }
  return bytes;
}

std::string LayerStack::description() const {
  const auto linears = layers_.front().back().block->linears();
  const auto largest =
      std::ranges::max_element(linears, {}, [](const backend::Linear* linear) { return linear->n() * linear->k(); });
  return (*largest)->description();
}

}  // namespace millrace::model
