#include "backend/cpu/packed_row_delta.h"

#include <algorithm>

#include "base/check.h"

namespace millrace::backend::cpu {

PackedRowDelta::PackedRowDelta(RowDeltaSource source, const KernelSet& kernels, WorkerTeam& team, WeightArena& arena)
    : scale_(source.scale), ids_(std::move(source.ids)) {
  const auto pack = [&](WeightSource& matrix) -> std::unique_ptr<PackedLinear> {
    if (matrix.rows == 0) return nullptr;
    std::vector<WeightSource> sources;
    sources.push_back(std::move(matrix));
    return std::make_unique<PackedLinear>(std::move(sources), kernels, MatmulPrecision::kF32, team, arena, nullptr);
  };
  a_ = pack(source.a);
  b_ = pack(source.b);
  d_ = pack(source.d);
  CHECK((a_ == nullptr) == (b_ == nullptr));
  CHECK(a_ == nullptr || (a_->k() == b_->k() && b_->n() == source.base->k() && a_->n() == source.base->n()));
  CHECK(d_ == nullptr || d_->k() == source.base->k());
  CHECK(std::ranges::is_sorted(ids_));
}

std::size_t PackedRowDelta::packed_bytes() const noexcept {
  std::size_t bytes = ids_.size() * sizeof(std::int32_t);
  for (const auto* part : {&a_, &b_, &d_}) bytes += *part == nullptr ? 0 : (*part)->packed_bytes();
  return bytes;
}

std::int64_t PackedRowDelta::scratch() const noexcept {
  return std::max(a_ == nullptr ? 0 : a_->k(), d_ == nullptr ? 0 : d_->k());
}

void PackedRowDelta::add(const KernelSet& kernels, std::int32_t id, float scale, float* scratch,
                         float* out) const noexcept {
  if (a_ != nullptr) {
    a_->unpack_row(id, scratch);
    kernels.scale(scratch, a_->k(), scale * scale_, 0.0f);
    b_->view(0).add_product({.first = 0, .last = b_->panels()}, scratch, 1, b_->k(), out, b_->n());
  }
  if (d_ == nullptr) return;
  std::int64_t row = id;
  if (!ids_.empty()) {
    const auto found = std::ranges::lower_bound(ids_, id);
    if (found == ids_.end() || *found != id) return;
    row = found - ids_.begin();
  }
  d_->unpack_row(row, scratch);
  kernels.add(scratch, d_->k(), scale, out);
}

}  // namespace millrace::backend::cpu
