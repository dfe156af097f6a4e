#include "backend/cpu/kv_writer.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/head_rotation.h"

namespace millrace::backend::cpu {
namespace {

// A head as the encoding takes it: itself, or a copy in `space` [kMaxHeadDim].
const float* prepare(const KvEncoding& encoding, std::int64_t head_dim, std::int64_t padded_dim, const float* x,
                     float* space) noexcept {
  x = pad_head(head_dim, padded_dim, x, space);
  if (!encoding.rotates) return x;
  if (x != space) std::copy_n(x, padded_dim, space);
  rotate_head(space, padded_dim);
  return space;
}

float largest_of(const float* x, std::int64_t n) noexcept {
  return *std::max_element(x, x + n, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
}

}  // namespace

void KvWriter::write(const SequenceRows& sequence, std::int64_t position, std::int64_t head, const float* key,
                     const float* value) const noexcept {
  const KvGeometry& geometry = kv_.geometry;
  alignas(64) float key_space[kMaxHeadDim], value_space[kMaxHeadDim];
  KvTokenBytes bytes;
  const float* k = prepare(encoding_, geometry.key_dim, geometry.padded_key_dim(), key, key_space);
  const float* v = prepare(encoding_, geometry.value_dim, geometry.padded_value_dim(), value, value_space);
  const bool fits = encoding_.write(kernels_, geometry, k, v, bytes);
  const std::int64_t slot = position % geometry.block_tokens;
  const std::int32_t page = sequence.pages[static_cast<std::size_t>(position / geometry.block_tokens)];
  if (!fits && overflows_ != nullptr) report(page, position, head, k, v);
  std::byte* at = kv_.base + static_cast<std::size_t>(page) * geometry.page_bytes() +
                  static_cast<std::size_t>(head) * geometry.head_bytes();
  layout_.write(geometry, at, slot, bytes.token());
}

void KvWriter::report(std::int32_t page, std::int64_t position, std::int64_t head, const float* key,
                      const float* value) const {
  const KvGeometry& geometry = kv_.geometry;
  const float of_key = largest_of(key, geometry.padded_key_dim()),
              of_value = largest_of(value, geometry.padded_value_dim());
  const bool is_key = std::fabs(of_key) >= std::fabs(of_value);
  overflows_->add({.layer = geometry.layer,
                   .head = head,
                   .position = position,
                   .page = page,
                   .of_key = is_key,
                   .value = is_key ? of_key : of_value,
                   .encoding = encoding_.name});
}

}  // namespace millrace::backend::cpu
