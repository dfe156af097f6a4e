#include "model/memory_plan.h"

#include <algorithm>
#include <initializer_list>

#include "model/weight_loader.h"

namespace millrace::model {
namespace {

using checkpoint::RawTensor;

// Rows that a worker takes through a layer at once, and the columns it keeps of the hidden layer as f32.
constexpr std::int64_t kBlockRows = 64, kBlockColumns = 128;

std::uint64_t workspace_bytes(const ModelSpec& spec, std::int64_t rows, int threads) {
  const LayerSpec& layer = spec.layers.front();
  const AttentionSpec& a = layer.attention;
  std::uint64_t columns = 0;
  for (const std::int64_t part :
       {spec.hidden_size, (a.heads + 2 * a.kv_heads) * a.head_dim, a.heads * a.head_dim, spec.rope_dim}) {
    columns += static_cast<std::uint64_t>((part + 15) / 16 * 16);
  }
  const auto block_columns = static_cast<std::uint64_t>(spec.hidden_size + layer.mlp.width + kBlockColumns);
  const auto block_rows = static_cast<std::uint64_t>(std::min(rows, kBlockRows) * threads);
  return (columns * static_cast<std::uint64_t>(rows) + block_columns * block_rows) * sizeof(float);
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
  for (const RawTensor& tensor : checkpoint.tensors) {
    if (tensor.shape.rank() != 2) continue;
    if (spec.tied_head && tensor.name == spec.names.head + ".weight") continue;  // the embedding again
    const bool embedding =
        tensor.name == spec.names.embedding + ".weight" || tensor.name == spec.names.positions + ".weight";
    const bool transposed = spec.transposed_linears && !embedding && tensor.name != spec.names.head + ".weight";
    plan.weights += backend.packed_bytes(*tensor.format, tensor.shape[transposed ? 1 : 0],
                                         tensor.shape[transposed ? 0 : 1], options.precision);
  }
  const std::int64_t page = options.kv.block_tokens;
  const std::int64_t pages = (options.length + page - 1) / page;
  plan.kv = kv_bytes_per_token(spec, options.kv.dtype) * static_cast<std::uint64_t>(pages * page);
  plan.workspace = workspace_bytes(spec, options.step_tokens, backend.threads());
  return plan;
}

}  // namespace millrace::model
