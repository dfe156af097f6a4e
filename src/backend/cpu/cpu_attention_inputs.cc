// Queries, keys and values: norm, product, norms of heads, clipping, rotation, and the keys' and values' way into their
// pages.

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

// What needs a whole row: norms over all heads together, and clipping behind them.
bool has_row_work(const HostAttentionInputs& inputs) noexcept {
  const auto whole = [](const HostHeadNorm& n) { return n.norm.weight != nullptr && n.over == HeadNorm::Over::kRow; };
  return inputs.clip > 0.0f || whole(inputs.q_norm) || whole(inputs.k_norm);
}

void finish_row(const KernelSet& kernels, const HostAttentionInputs& inputs, float* qkv, std::int64_t width) noexcept {
  const auto apply = [&](const HostHeadNorm& n, float* heads, std::int64_t n_heads) {
    if (n.norm.weight == nullptr || n.over != HeadNorm::Over::kRow) return;
    normalise(kernels, n.norm, heads, n_heads * inputs.kv.geometry.key_dim, heads);
  };
  apply(inputs.q_norm, qkv, inputs.heads);
  apply(inputs.k_norm, qkv + inputs.heads * inputs.kv.geometry.key_dim, inputs.kv.geometry.kv_heads);
  if (inputs.clip > 0.0f) kernels.clamp(qkv, width, inputs.clip);
}

// Norm and rotation of one head of queries or keys; `number` is the head's.
void finish_head(const KernelSet& kernels, const HostAttentionInputs& inputs, const HostHeadNorm& head_norm,
                 std::int64_t row, std::int64_t number, float* head) noexcept {
  HostNorm norm = head_norm.norm;
  const bool has_norm = norm.weight != nullptr && head_norm.over == HeadNorm::Over::kHead;
  if (has_norm) {
    norm.weight += number * head_norm.weight_stride;
    if (norm.bias != nullptr) norm.bias += number * head_norm.weight_stride;
  }
  const std::int64_t dim = inputs.kv.geometry.key_dim;
  if (has_norm && !head_norm.after_rotation) normalise(kernels, norm, head, dim, head);
  if (inputs.cos_sin != nullptr) kernels.rope(head, inputs.rotated, inputs.cos_sin + row * inputs.rotated);
  if (has_norm && head_norm.after_rotation) normalise(kernels, norm, head, dim, head);
}

// Queries, key and value of one key/value head of a row, once the product is there.
void finish_heads(const KernelSet& kernels, const HostAttentionInputs& inputs, std::int64_t row, std::int64_t kv_head,
                  TensorView qkv, KvOverflows& overflows) noexcept {
  const KvGeometry& geometry = inputs.kv.geometry;
  const std::int64_t head_dim = geometry.key_dim;
  const HeadGroups::Queries queries = inputs.groups.of(kv_head, inputs.heads);
  float* q = qkv.row(row);
  float* k = q + (inputs.heads + kv_head) * head_dim;
  const float* v = q + (inputs.heads + geometry.kv_heads) * head_dim + kv_head * geometry.value_dim;
  for (std::int64_t h = queries.first; h < queries.last; ++h) {
    float* head = q + h * head_dim;
    finish_head(kernels, inputs, inputs.q_norm, row, h, head);
    if (inputs.query_scale.data != nullptr) kernels.scale(head, head_dim, *inputs.query_scale.row(row), 0.0f);
  }
  finish_head(kernels, inputs, inputs.k_norm, row, kv_head, k);
  write_token(KvWriter(kernels, inputs.kv, &overflows), inputs.sequences, row, kv_head, k, v);
}

}  // namespace

void CpuBackend::project_attention(const AttentionInputs& of_device, DeviceView from, DeviceView to) {
  const HostAttentionInputs inputs = on_host(of_device);
  const TensorView x = on_host(from), qkv = on_host(to);
  const auto& weight = static_cast<const PackedLinear&>(*inputs.qkv);
  const std::int64_t rows = x.rows(), kv_heads = inputs.kv.geometry.kv_heads;
  DCHECK(x.cols() == weight.k() && qkv.cols() == weight.n() && qkv.rows() == rows);
  DCHECK(inputs.q_norm.over == HeadNorm::Over::kHead || !inputs.q_norm.after_rotation);
  DCHECK(inputs.k_norm.over == HeadNorm::Over::kHead || !inputs.k_norm.after_rotation);
  if (rows == 0) return;
  const RowSource source(x, inputs.norm);
  const ProductOutput output{inputs.bias, false, qkv, of_device.adapters};
  const bool row_work = has_row_work(inputs);
  const std::int64_t block = row_block(rows, threads());
  if (block > 0) {
    products_.reserve_block(weight, block, output.adapters);
    const ApartRows apart = products_.apart_rows(output.adapters, output.accumulate, rows, weight.n());
    program_->add_tasks((rows + block - 1) / block, [=, this, &weight](std::int64_t i, int worker) {
      const std::int64_t first = i * block, end = std::min(rows, first + block);
      products_.multiply_rows(source, weight, output, apart, first, end - first, worker);
      for (std::int64_t row = first; row < end; ++row) {
        if (row_work) finish_row(kernels_, inputs, qkv.row(row), qkv.cols());
        for (std::int64_t h = 0; h < kv_heads; ++h) finish_heads(kernels_, inputs, row, h, qkv, overflows_);
      }
    });
    return;
  }
  products_.multiply_columns(*program_, source, weight, output);
  if (row_work) {
    program_->add_split(rows, 1, [=, this](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) finish_row(kernels_, inputs, qkv.row(row), qkv.cols());
    });
  }
  program_->add_split(rows * kv_heads, 1, [=, this](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i)
      finish_heads(kernels_, inputs, i / kv_heads, i % kv_heads, qkv, overflows_);
  });
}

}  // namespace millrace::backend::cpu
