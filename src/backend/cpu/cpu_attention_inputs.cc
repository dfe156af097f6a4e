// Queries, keys and values: norm, product, norms of heads, rotation, and the keys' and values' way into their pages.

#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kv_writer.h"
#include "backend/cpu/packed_linear.h"
#include "backend/cpu/row_blocks.h"
#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

void write_token(const KvWriter& writer, std::span<const SequenceRows> sequences, std::int64_t row,
                 std::int64_t kv_head, const float* k, const float* v) noexcept {
  const auto sequence = std::prev(std::upper_bound(
      sequences.begin(), sequences.end(), row, [](std::int64_t r, const SequenceRows& s) { return r < s.first_row; }));
  writer.write(*sequence, sequence->first_position + row - sequence->first_row, kv_head, k, v);
}

// Queries, key and value of one key/value head of a row, once the product is there.
void finish_head(const KernelSet& kernels, const HostAttentionInputs& inputs, std::int64_t row, std::int64_t kv_head,
                 TensorView qkv) noexcept {
  const KvGeometry& geometry = inputs.kv.geometry;
  const std::int64_t head_dim = geometry.key_dim, group = inputs.heads / geometry.kv_heads;
  float* q = qkv.row(row) + kv_head * group * head_dim;
  float* k = qkv.row(row) + (inputs.heads + kv_head) * head_dim;
  const float* v = qkv.row(row) + (inputs.heads + geometry.kv_heads) * head_dim + kv_head * geometry.value_dim;
  const auto place = [&](const std::optional<HostNorm>& norm, float* head) {
    if (norm) normalise(kernels, *norm, head, head_dim, head);
    if (inputs.cos_sin != nullptr) kernels.rope(head, inputs.rotated, inputs.cos_sin + row * inputs.rotated);
  };
  for (std::int64_t h = 0; h < group; ++h) place(inputs.q_norm, q + h * head_dim);
  place(inputs.k_norm, k);
  write_token(KvWriter(kernels, inputs.kv), inputs.sequences, row, kv_head, k, v);
}

}  // namespace

void CpuBackend::project_attention(const AttentionInputs& of_device, DeviceView from, DeviceView to) {
  const HostAttentionInputs inputs = on_host(of_device);
  const TensorView x = on_host(from), qkv = on_host(to);
  const auto& weight = static_cast<const PackedLinear&>(*inputs.qkv);
  const std::int64_t rows = x.rows(), kv_heads = inputs.kv.geometry.kv_heads;
  DCHECK(x.cols() == weight.k() && qkv.cols() == weight.n() && qkv.rows() == rows);
  if (rows == 0) return;
  const RowSource source(x, inputs.norm);
  const ProductOutput output{inputs.bias, false, qkv};
  const std::int64_t block = row_block(rows, threads());
  if (block > 0) {
    products_.reserve_block(weight, block);
    program_->add_tasks((rows + block - 1) / block, [=, this, &weight](std::int64_t i, int worker) {
      const std::int64_t first = i * block, end = std::min(rows, first + block);
      products_.multiply_rows(source, weight, output, first, end - first, worker);
      for (std::int64_t row = first; row < end; ++row) {
        for (std::int64_t h = 0; h < kv_heads; ++h) finish_head(kernels_, inputs, row, h, qkv);
      }
    });
    return;
  }
  products_.multiply_columns(*program_, source, weight, output);
  program_->add_split(rows * kv_heads, 1, [=, this](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) finish_head(kernels_, inputs, i / kv_heads, i % kv_heads, qkv);
  });
}

}  // namespace millrace::backend::cpu
