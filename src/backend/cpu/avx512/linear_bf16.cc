// Products of bf16 weights with activations rounded to bf16, two k at a time with vdpbf16ps. Pairs are added in order
// of k in one chain an output, so the bits do not depend on the number of rows.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx512_bf16.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx512.inc"
#include "backend/cpu/body/linear_output.inc"

template <int kPanels, int kRows>
inline void tile(const LinearArgs& args, std::int64_t panel, std::int64_t row) {
  V acc[kPanels][kRows];
  const std::byte* weights[kPanels];
  for (int p = 0; p < kPanels; ++p) {
    weights[p] = args.panels + static_cast<std::size_t>(panel + p) * args.panel_bytes;
    for (int r = 0; r < kRows; ++r) acc[p][r] = zero();
  }
  const std::uint16_t* x = args.x.bf16 + row * args.x.k;
  for (std::int64_t k = 0; k < args.x.k; k += 2) {
    __m512bh w[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      w[p] = (__m512bh)_mm512_loadu_si512(weights[p] + static_cast<std::size_t>(k) * kPanelRows * 2);
    }
    for (int r = 0; r < kRows; ++r) {
      std::int32_t pair;
      std::memcpy(&pair, x + r * args.x.k + k, 4);
      const __m512bh v = (__m512bh)_mm512_set1_epi32(pair);
      for (int p = 0; p < kPanels; ++p) acc[p][r] = _mm512_dpbf16_ps(acc[p][r], w[p], v);
    }
  }
  for (int p = 0; p < kPanels; ++p) {
    for (int r = 0; r < kRows; ++r) store_outputs(args, row + r, (panel + p) * kPanelRows, acc[p][r]);
  }
}

template <int kPanels, int kRows>
inline void rows(const LinearArgs& args, std::int64_t panel, std::int64_t& row) {
  for (; row + kRows <= args.x.rows; row += kRows) tile<kPanels, kRows>(args, panel, row);
}

// Four panels: at one row four independent chains hide the latency of the products.
template <int kPanels>
inline void panels(const LinearArgs& args, std::int64_t panel) {
  std::int64_t row = 0;
  rows<kPanels, 6>(args, panel, row);
  rows<kPanels, 3>(args, panel, row);
  rows<kPanels, 1>(args, panel, row);
}

void run(const LinearArgs& args) noexcept {
  std::int64_t panel = 0;
  for (; panel + 4 <= args.n_panels; panel += 4) panels<4>(args, panel);
  for (; panel < args.n_panels; ++panel) panels<1>(args, panel);
}

#include "backend/cpu/target_end.inc"
}  // namespace

namespace avx512 {
KernelSet linear_bf16() {
  KernelSet set;
  set.isa = Isa::kAvx512Bf16;
  set.linears.push_back({"bf16", "bf16", MatmulPrecision::kAuto, ActivationType::kBf16, 2, dense_panel_bytes,
                         pack_dense, unpack_dense_row, run});
  return set;
}
}  // namespace avx512
}  // namespace millrace::backend::cpu
