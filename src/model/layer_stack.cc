#include "model/layer_stack.h"

#include <algorithm>

namespace millrace::model {

StackWorkspace stack_workspace(const ModelSpec& spec, bool shared) {
  StackWorkspace most;
  for (const LayerSpec& layer : spec.layers) {
    const bool parallel = layer.residual == ResidualForm::kParallel;
    const auto n_blocks = static_cast<std::int64_t>(layer.blocks.size());
    for (const BlockSpec& block : layer.blocks) {
      const BlockWorkspace needed = kind_of(block).workspace(block, spec);
      const std::int64_t outputs = parallel ? n_blocks : block.output.plain() || block.output.replaces ? 0 : 1;
      std::int64_t columns = outputs * RowSpace::padded(spec.hidden_size);
      for (const std::int64_t part : needed.columns) columns += RowSpace::padded(part);
      for (const std::int64_t part : needed.columns_of_ranks) columns += shared ? RowSpace::padded(part) : 0;
      most.columns = std::max(most.columns, columns);
      most.ffn = std::max(most.ffn, needed.ffn);
      most.routed = std::max(most.routed, needed.routed);
    }
  }
  return most;
}

LayerStack::LayerStack(WeightLoader& weights, const ModelSpec& spec, backend::Backend& backend,
                       backend::MatmulPrecision precision, const RankShards& shards,
                       const std::function<void(std::int64_t layer)>& before) {
  BlockLoader loader(weights, spec, backend, precision, shards);
  std::int64_t kv_layers = 0;
  const RowRange own = shards.layers(std::ssize(spec.layers));
  for (const LayerSpec& layer : spec.layers) {
    const std::int64_t index = size();
    const bool is_own = index >= own.first && index < own.last;
    if (before && is_own) before(index);
    loader.set_layer(layer.has_weights() ? index : layer.weights_of);
    Layer& loaded = layers_.emplace_back();
    loaded.residual = layer.residual;
    // Also those of a layer that other ranks have.
    loaded.has_weights = is_own && (layer.has_weights() || layer.weights_of < own.first);
    if (!is_own) {
      for (const BlockSpec& block : layer.blocks) kv_layers += kind_of(block).kv(block) ? 1 : 0;
      continue;
    }
    for (std::size_t i = 0; i < layer.blocks.size(); ++i) {
      const BlockSpec& block = layer.blocks[i];
      const BlockKind& kind = kind_of(block);
      const std::int64_t kv_layer = kind.kv(block) ? kv_layers++ : -1;
      const BlockOutput& output = block.output;
      CHECK(!output.replaces || layer.residual == ResidualForm::kSequential);
      const auto load = [&] { return std::shared_ptr<const Block>(kind.load(block, loader)); };
      const auto earlier = [&] { return layers_[static_cast<std::size_t>(layer.weights_of)].entries[i].block; };
      loaded.entries.push_back({.block = loaded.has_weights ? load() : earlier(),
                                .kv_layer = kv_layer,
                                .output = output,
                                .norm = loader.norm(output.norm_name, output.norm, spec.hidden_size),
                                .sum_norm = loader.norm(output.sum_norm_name, output.sum_norm, spec.hidden_size)});
    }
  }
  places_ = loader.products();
}

std::vector<const Product*> LayerStack::products(std::int64_t layer, std::size_t block) const {
  const Layer& of = layers_[static_cast<std::size_t>(layer)];
  const bool has = of.has_weights && block < of.entries.size();
  return has ? of.entries[block].block->products() : std::vector<const Product*>();
}

void LayerStack::run(backend::Backend& backend, const Entry& entry, const BlockRows& rows, const kv::KvStore& store) {
  if (entry.kv_layer < 0 || !store.windowed(entry.kv_layer)) {
    return entry.block->run(backend, rows, entry.kv_layer < 0 ? backend::KvPages{} : store.layer(entry.kv_layer));
  }
  BlockRows windowed = rows;
  windowed.sequences = rows.window_sequences;
  entry.block->run(backend, windowed, store.layer(entry.kv_layer));
}

void LayerStack::join(backend::Backend& backend, const Entry& entry, const backend::DeviceView& output,
                      const backend::DeviceView& residual) {
  std::optional<backend::Norm> norm;
  if (!entry.norm.empty()) norm = entry.norm.view();
  backend.add({.norm = norm, .scale = entry.output.scale}, output, residual);
  if (!entry.sum_norm.empty()) backend.norm(entry.sum_norm.view(), {}, residual, residual);
}

void LayerStack::run(backend::Backend& backend, std::int64_t index, const BlockRows& rows,
                     const kv::KvStore& store) const {
  const Layer& layer = layers_[static_cast<std::size_t>(index)];
  if (layer.residual == ResidualForm::kParallel) return run_parallel(backend, layer, rows, store);
  for (const Entry& entry : layer.entries) {
    BlockRows of_block = rows;
    of_block.accumulate = entry.output.plain();
    const bool joins = !of_block.accumulate && !entry.output.replaces;
    of_block.output = joins ? of_block.space.take(rows.residual.cols()) : rows.residual;
    run(backend, entry, of_block, store);
    if (joins) join(backend, entry, of_block.output, rows.residual);
  }
}

// The last block may add to the residual at once, as all have read it then.
void LayerStack::run_parallel(backend::Backend& backend, const Layer& layer, const BlockRows& rows,
                              const kv::KvStore& store) const {
  BlockRows of_block = rows;
  std::vector<backend::DeviceView> outputs;
  for (const Entry& entry : layer.entries) {
    of_block.accumulate = &entry == &layer.entries.back() && entry.output.plain();
    of_block.output = of_block.accumulate ? rows.residual : of_block.space.take(rows.residual.cols());
    outputs.push_back(of_block.output);
    run(backend, entry, of_block, store);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].data != rows.residual.data) join(backend, layer.entries[i], outputs[i], rows.residual);
  }
}

void LayerStack::count_experts(backend::Backend& backend, std::int64_t layer, ExpertUse& use) const {
  for (const Entry& entry : layers_[static_cast<std::size_t>(layer)].entries) entry.block->count_experts(backend, use);
}

std::vector<backend::Linear*> LayerStack::linears() const {
  std::vector<backend::Linear*> all;
  for (const Layer& layer : layers_) {
    if (!layer.has_weights) continue;
    for (const Entry& entry : layer.entries) {
      for (backend::Linear* linear : entry.block->linears()) all.push_back(linear);
    }
  }
  return all;
}

double LayerStack::weight_bytes(double rows) const noexcept {
  double bytes = 0.0;
  for (const Layer& layer : layers_) {
    for (const Entry& entry : layer.entries) bytes += entry.block->weight_bytes(rows);
  }
  return bytes;
}

std::string LayerStack::description() const {
  const std::vector<backend::Linear*> all = linears();
  const auto largest =
      std::ranges::max_element(all, {}, [](const backend::Linear* linear) { return linear->n() * linear->k(); });
  return largest == all.end() ? std::string() : (*largest)->description();
}

}  // namespace millrace::model
