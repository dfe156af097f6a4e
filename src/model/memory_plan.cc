#include "model/memory_plan.h"

#include <initializer_list>

#include "backend/cpu/kernels.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

using checkpoint::RawTensor;

// A matrix as PackedLinear lays it out with the first kernel that takes it.
std::uint64_t packed_bytes(const backend::cpu::KernelSet& kernels, const quant::QuantFormat& format, std::int64_t rows,
                           std::int64_t cols, backend::MatmulPrecision precision) {
  for (const backend::cpu::LinearKernel& kernel : kernels.linears) {
    const bool takes = (kernel.format == "*" || kernel.format == format.name) && kernel.precision == precision;
    if (!takes || cols % kernel.k_multiple != 0) continue;
    const auto panels = static_cast<std::uint64_t>((rows + backend::cpu::kPanelRows - 1) / backend::cpu::kPanelRows);
    return (panels * kernel.panel_bytes(format, cols) + 63) / 64 * 64;
  }
  return 0;
}

std::uint64_t workspace_bytes(const ModelSpec& spec, std::int64_t rows) {
  const LayerSpec& layer = spec.layers.front();
  const AttentionSpec& a = layer.attention;
  std::uint64_t columns = 0;
  for (const std::int64_t part :
       {spec.hidden_size, spec.hidden_size, (a.heads + 2 * a.kv_heads) * a.head_dim, a.heads * a.head_dim,
        layer.mlp.width * (layer.mlp.gated ? 2 : 1), layer.mlp.width, spec.rope_dim}) {
    columns += static_cast<std::uint64_t>((part + 15) / 16 * 16);
  }
  return columns * static_cast<std::uint64_t>(rows) * sizeof(float);
}

}  // namespace

std::uint64_t kv_bytes_per_token(const ModelSpec& spec, DType dtype) noexcept {
  std::uint64_t values = 0;
  for (const LayerSpec& layer : spec.layers) {
    values += 2 * static_cast<std::uint64_t>(layer.attention.kv_heads * layer.attention.head_dim);
  }
  return values * size_of(dtype);
}

MemoryPlan plan_memory(const checkpoint::Checkpoint& checkpoint, const ModelSpec& spec,
                       const MemoryPlanOptions& options) {
  const backend::cpu::KernelSet kernels = backend::cpu::select_kernels(options.isa);
  MemoryPlan plan;
  for (const RawTensor& tensor : checkpoint.tensors) {
    if (tensor.shape.rank() != 2) continue;
    if (spec.tied_head && tensor.name == spec.names.head + ".weight") continue;  // the embedding again
    const bool embedding =
        tensor.name == spec.names.embedding + ".weight" || tensor.name == spec.names.positions + ".weight";
    const bool transposed = spec.transposed_linears && !embedding && tensor.name != spec.names.head + ".weight";
    plan.weights += packed_bytes(kernels, *tensor.format, tensor.shape[transposed ? 1 : 0],
                                 tensor.shape[transposed ? 0 : 1], options.precision);
  }
  const std::int64_t pages = (options.length + backend::cpu::kPageTokens - 1) / backend::cpu::kPageTokens;
  plan.kv = kv_bytes_per_token(spec, options.kv) * static_cast<std::uint64_t>(pages * backend::cpu::kPageTokens);
  plan.workspace = workspace_bytes(spec, options.step_tokens);
  return plan;
}

}  // namespace millrace::model
