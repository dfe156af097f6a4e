#include "model/memory_plan.h"

#include <initializer_list>

#include "model/weight_loader.h"

namespace millrace::model {
namespace {

// The transformer's, as f32.
std::uint64_t activation_bytes(const ModelSpec& spec, std::int64_t rows) {
  const AttentionSpec& a = spec.layers.front().attention;
  std::uint64_t columns = 0;
  for (const std::int64_t part :
       {spec.hidden_size, (a.heads + 2 * a.kv_heads) * a.head_dim, a.heads * a.head_dim, spec.rope_dim}) {
    columns += static_cast<std::uint64_t>((part + 15) / 16 * 16);
  }
  return columns * static_cast<std::uint64_t>(rows) * sizeof(float);
}

}  // namespace

std::uint64_t kv_bytes_per_token(const ModelSpec& spec, DType dtype) noexcept {
  std::uint64_t bytes = 0;
  for (const LayerSpec& layer : spec.layers) {
    const AttentionSpec& a = layer.attention;
    bytes += backend::KvGeometry{.dtype = dtype, .kv_heads = a.kv_heads, .head_dim = a.head_dim, .block_tokens = 1}
                 .page_bytes();
  }
  return bytes;
}

MemoryPlan plan_memory(const checkpoint::Checkpoint& checkpoint, const ModelSpec& spec, const backend::Backend& backend,
                       const MemoryPlanOptions& options) {
  MemoryPlan plan;
  const CheckpointWeights weights(checkpoint);
  for (const MatrixInfo& matrix : weights.quantized_matrices()) {
    plan.weights += backend.packed_bytes(*matrix.format, matrix.rows, matrix.cols, options.precision);
  }
  for (const MatrixInfo& tensor : weights.plain_matrices()) {
    if (spec.tied_head && tensor.name == spec.names.head + ".weight") continue;  // the embedding again
    const bool embedding =
        tensor.name == spec.names.embedding + ".weight" || tensor.name == spec.names.positions + ".weight";
    const bool transposed = spec.transposed_linears && !embedding && tensor.name != spec.names.head + ".weight";
    plan.weights += backend.packed_bytes(*tensor.format, transposed ? tensor.cols : tensor.rows,
                                         transposed ? tensor.rows : tensor.cols, options.precision);
  }
  const std::int64_t page = options.kv.block_tokens;
  const std::int64_t pages = (options.length + page - 1) / page;
  plan.kv = kv_bytes_per_token(spec, options.kv.dtype) * static_cast<std::uint64_t>(pages * page);
  plan.workspace = activation_bytes(spec, options.step_tokens) +
                   backend.workspace_bytes(options.step_tokens, spec.hidden_size, spec.layers.front().mlp.width);
  return plan;
}

}  // namespace millrace::model
