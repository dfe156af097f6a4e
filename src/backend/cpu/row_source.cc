#include "backend/cpu/row_source.h"

namespace millrace::backend::cpu {

void normalise(const KernelSet& kernels, const HostNorm& norm, const float* x, std::int64_t n, float* out) noexcept {
  if (norm.kind == NormKind::kRms) {
    kernels.rms_norm(x, n, norm.weight, norm.eps, out);
  } else {
    kernels.layer_norm(x, n, norm.weight, norm.bias, norm.eps, out);
  }
}

const float* RowSource::row(const KernelSet& kernels, std::int64_t row, float* normed) const noexcept {
  const float* x = x_.row(chosen_.empty() ? row : chosen_[static_cast<std::size_t>(row)]);
  if (norm_.weight == nullptr) return x;
  normalise(kernels, norm_, x, x_.cols(), normed);
  return normed;
}

void RowSource::store_row(const KernelSet& kernels, std::int64_t row, const ActivationRows& to, std::int64_t to_row,
                          float* normed) const noexcept {
  to.store_row(kernels, to_row, this->row(kernels, row, normed));
}

void RowSource::store(const KernelSet& kernels, std::int64_t first, std::int64_t count, const ActivationRows& to,
                      float* normed) const noexcept {
  for (std::int64_t r = 0; r < count; ++r) store_row(kernels, first + r, to, r, normed);
}

}  // namespace millrace::backend::cpu
