#include "model/memory_plan.h"

#include <map>

#include "kv/kv_groups.h"
#include "kv/window_budget.h"
#include "model/layer_stack.h"
#include "model/transformer.h"

namespace millrace::model {
namespace {

// Of the matrices in the checkpoint that the model multiplies with, packed.
class PackedWeights {
 public:
  PackedWeights(const CheckpointWeights& weights, const ModelSpec& spec, const backend::Backend& backend,
                const MemoryPlanOptions& options)
      : backend_(backend),
        options_(options),
        precision_(options.precision),
        quantization_(options.quantization),
        tied_head_(spec.tied_head) {
    for (const MatrixInfo& matrix : weights.matrices()) formats_.emplace(matrix.name, matrix.format);
  }

  // `name` is the tensor's, of that layer or, layer 0, outside of them.
  void add(const std::string& name, const BlockWeight& weight, std::int64_t layer) {
    const auto stored = formats_.find(WeightLoader::expert_name(name, 0));
    if (weight.cols == 0 || stored == formats_.end()) return;
    if (options_.shards != nullptr && !has(weight)) return;
    const std::int64_t all_rows = weight.rows + weight.zero_rows;
    const std::int64_t rows =
        options_.shards == nullptr ? all_rows : options_.shards->rows(weight, layer, options_.rank).size();
    const std::int64_t matrices = std::max<std::int64_t>(1, weight.experts);
    const auto stored_rows = static_cast<std::size_t>(std::min(rows, weight.rows) * matrices);
    read_ += stored->second->row_bytes(weight.cols) * stored_rows;
    if (weight.role != "token_embd" || is_tied_head()) {
      multiplied_ += static_cast<double>(rows * matrices) * static_cast<double>(weight.cols);
    }
    if (weight.unit_rows) return add_computed(rows, weight.cols);
    const auto precision = weight.exact ? backend::MatmulPrecision::kF32 : precision_;
    const bool outer = weight.role == "token_embd" || weight.role == "output";
    const bool stays = weight.role == "position_embd" || weight.role == "project_in" || weight.role == "project_out";
    const quant::QuantFormat* format = stays   ? stored->second
                                       : outer ? quantization_.of_outer(weight.cols, stored->second)
                                               : quantization_.of_weight(weight, stored->second);
    const std::size_t of_one = backend_.packed_bytes(*format, rows, weight.cols + weight.zero_cols, precision);
    const std::size_t of_all = static_cast<std::size_t>(matrices) * of_one;
    bytes_ += of_all;
    if (weight.experts > 0) expert_bytes_ += of_all;
  }
  void add(const LayerSpec& layer, std::int64_t index, const ModelSpec& spec) {
    if (options_.shards != nullptr) {
      const RowRange own = options_.shards->layers(options_.rank);
      if (index < own.first || index >= own.last) return;
    }
    const auto named = [&](const std::string& pattern) {
      return spec.names.in_file(WeightLoader::layer_name(pattern, index));
    };
    const auto has = [&](const std::string& pattern) {
      return formats_.contains(named(pattern) + ".weight") || formats_.contains(named(pattern));
    };
    for (const BlockSpec& block : layer.blocks) {
      for (const BlockWeight& weight : block_weights(block, spec, has)) {
        add(named(weight.tensor()), weight, layer.has_weights() ? index : layer.weights_of);
      }
    }
  }
  // Whether the rank has a weight, of those outside the layers.
  bool has(const BlockWeight& weight) const {
    const bool first = options_.shards->is_first(options_.rank), last = options_.shards->is_last(options_.rank);
    if (weight.role == "token_embd") return first || (last && tied_head_);
    if (weight.role == "position_embd" || weight.role == "project_in") return first;
    return (weight.role != "output" && weight.role != "project_out") || last;
  }
  // Whether the embedding is the head too, on this rank: another stage may multiply with its own.
  bool is_tied_head() const { return tied_head_ && (!options_.shards || options_.shards->is_last(options_.rank)); }
  // Of values that are computed, not read.
  void add_computed(std::int64_t rows, std::int64_t cols) {
    bytes_ += backend_.packed_bytes(*quant::find_format("f32"), rows, cols, precision_);
  }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t expert_bytes() const noexcept { return expert_bytes_; }
  std::uint64_t read() const noexcept { return read_; }
  double multiplied() const noexcept { return multiplied_; }

 private:
  const backend::Backend& backend_;
  const MemoryPlanOptions& options_;
  backend::MatmulPrecision precision_;
  const LoadQuantization& quantization_;
  std::map<std::string, const quant::QuantFormat*> formats_;  // of the checkpoint's matrices, by name
  bool tied_head_;
  std::uint64_t bytes_ = 0, expert_bytes_ = 0, read_ = 0;
  double multiplied_ = 0.0;
};

// The transformer's, as f32.
std::uint64_t activation_bytes(const ModelSpec& spec, std::int64_t rows) {
  return static_cast<std::uint64_t>(step_columns(spec) * rows) * sizeof(float);
}

// Of whole pages. A page's size is that of pages of one token, times its tokens.
// Pages of one token, to count bytes.
backend::KvFormat per_token(const backend::KvFormat& format) {
  return {.encoding = format.encoding, .block_tokens = 1, .exceptions = format.exceptions};
}

std::uint64_t kv_bytes(const ModelSpec& spec, const backend::Backend& backend, const MemoryPlanOptions& options) {
  const std::int64_t page = options.kv.block_tokens;
  const kv::KvGroups groups = kv::group_layers(
      options.shards == nullptr ? kv_needs(spec) : options.shards->kv_needs(spec, options.rank), per_token(options.kv));
  const std::size_t window = options.sequences > 0 ? groups.window_page_bytes(backend) : 0;
  const auto tokens = static_cast<std::size_t>(page);
  const kv::KvBudget budget{.page_bytes = (groups.page_bytes(backend) - window) * tokens,
                            .window_page_bytes = window * tokens,
                            .block_tokens = page,
                            .window = groups.window(),
                            .sequences = options.sequences,
                            .step_tokens = options.step_tokens};
  return options.length == 0 ? 0 : kv::size_for_tokens(budget, options.length).bytes(budget);
}

}  // namespace

std::uint64_t kv_bytes_per_token(std::span<const kv::KvNeed> needs, const backend::KvFormat& format,
                                 const backend::Backend& backend) {
  return kv::group_layers(needs, per_token(format)).page_bytes(backend);
}

std::uint64_t kv_bytes_per_token(const ModelSpec& spec, const backend::KvFormat& format,
                                 const backend::Backend& backend) {
  return kv_bytes_per_token(kv_needs(spec), format, backend);
}

MemoryPlan plan_memory(const CheckpointWeights& stored, const ModelSpec& spec, const backend::Backend& backend,
                       const MemoryPlanOptions& options) {
  const StackWorkspace stack = stack_workspace(spec);
  PackedWeights weights(stored, spec, backend, options);
  for (const BlockWeight& weight : outer_weights(spec)) {
    weights.add(spec.names.in_file(weight.tensor()), weight, 0);
  }
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    weights.add(spec.layers[i], static_cast<std::int64_t>(i), spec);
  }
  if (spec.positions == PositionKind::kSinusoidal) {
    if (options.shards == nullptr || options.shards->is_first(options.rank)) {
      weights.add_computed(spec.context_length + spec.position_offset, spec.hidden_size);
    }
  }
  MemoryPlan plan;
  plan.weights = weights.bytes();
  plan.experts = weights.expert_bytes();
  plan.read = weights.read();
  plan.multiplied = weights.multiplied();
  plan.kv = kv_bytes(spec, backend, options);
  plan.workspace = activation_bytes(spec, options.step_tokens) +
                   backend.workspace_bytes(options.step_tokens, spec.hidden_size, stack.ffn, stack.routed);
  return plan;
}

}  // namespace millrace::model
