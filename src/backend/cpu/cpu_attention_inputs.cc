// Queries, keys and values: norm, product, norms of heads, rotation, and the keys' and values' way into their pages.

#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/packed_linear.h"
#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

// Stores one token's row of a head: keys dimension by dimension, values as they are.
template <typename T, typename Convert>
void store_token(const float* k, const float* v, std::int64_t head_dim, std::int64_t slot, T* page, Convert convert) {
  for (std::int64_t d = 0; d < head_dim; ++d) page[d * kPageTokens + slot] = convert(k[d]);
  T* values = page + head_dim * kPageTokens + slot * head_dim;
  for (std::int64_t d = 0; d < head_dim; ++d) values[d] = convert(v[d]);
}

void write_token(const KvPages& kv, std::span<const SequenceRows> sequences, std::int64_t row, std::int64_t kv_head,
                 const float* k, const float* v) noexcept {
  const auto sequence = std::prev(std::upper_bound(
      sequences.begin(), sequences.end(), row, [](std::int64_t r, const SequenceRows& s) { return r < s.first_row; }));
  const std::int64_t position = sequence->first_position + row - sequence->first_row, slot = position % kPageTokens;
  const auto page_id = static_cast<std::size_t>(sequence->pages[static_cast<std::size_t>(position / kPageTokens)]);
  const std::int64_t head_dim = kv.geometry.head_dim;
  std::byte* page =
      kv.base + page_id * kv.geometry.page_bytes() + static_cast<std::size_t>(kv_head) * kv.geometry.head_bytes();
  switch (kv.geometry.dtype) {
    case DType::kF32:
      return store_token(k, v, head_dim, slot, reinterpret_cast<float*>(page), [](float x) { return x; });
    case DType::kF16: return store_token(k, v, head_dim, slot, reinterpret_cast<std::uint16_t*>(page), f32_to_f16);
    case DType::kBF16: return store_token(k, v, head_dim, slot, reinterpret_cast<std::uint16_t*>(page), f32_to_bf16);
    default: CHECK(false && "a KV type without kernels");
  }
}

}  // namespace

void CpuBackend::finish_head(const AttentionInputs& inputs, std::int64_t row, std::int64_t kv_head,
                             TensorView qkv) const noexcept {
  const KvGeometry& geometry = inputs.kv.geometry;
  const std::int64_t head_dim = geometry.head_dim, group = inputs.heads / geometry.kv_heads;
  float* q = qkv.row(row) + kv_head * group * head_dim;
  float* k = qkv.row(row) + (inputs.heads + kv_head) * head_dim;
  const float* v = k + geometry.kv_heads * head_dim;
  const auto place = [&](const std::optional<Norm>& norm, float* head) {
    if (norm) normalise(kernels_, *norm, head, head_dim, head);
    if (inputs.cos_sin != nullptr) kernels_.rope(head, inputs.rotated, inputs.cos_sin + row * inputs.rotated);
  };
  for (std::int64_t h = 0; h < group; ++h) place(inputs.q_norm, q + h * head_dim);
  place(inputs.k_norm, k);
  write_token(inputs.kv, inputs.sequences, row, kv_head, k, v);
}

void CpuBackend::project_attention(const AttentionInputs& inputs, TensorView x, TensorView qkv) {
  const auto& weight = static_cast<const PackedLinear&>(*inputs.qkv);
  const std::int64_t rows = x.rows(), kv_heads = inputs.kv.geometry.kv_heads;
  DCHECK(x.cols() == weight.k() && qkv.cols() == weight.n() && qkv.rows() == rows);
  DCHECK(inputs.kv.geometry.block_tokens == kPageTokens);
  if (rows == 0) return;
  const RowSource source(x, inputs.norm);
  const std::int64_t block = row_block(rows);
  if (block > 0) {
    reserve_blocks(weight, block);
    program_->add_tasks((rows + block - 1) / block, [=, this, &weight](std::int64_t i, int worker) {
      const std::int64_t first = i * block, end = std::min(rows, first + block);
      multiply_rows(source, weight, inputs.bias, false, qkv, first, end - first, worker);
      for (std::int64_t row = first; row < end; ++row) {
        for (std::int64_t h = 0; h < kv_heads; ++h) finish_head(inputs, row, h, qkv);
      }
    });
    return;
  }
  multiply_columns(source, weight, inputs.bias, false, qkv);
  program_->add_split(rows * kv_heads, 1, [=, this](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) finish_head(inputs, i / kv_heads, i % kv_heads, qkv);
  });
}

}  // namespace millrace::backend::cpu
