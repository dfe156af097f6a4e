#pragma once

#include "backend/cpu/kernels.h"
#include "quant/format.h"
#include "quant/grid_form.h"

namespace millrace::backend::cpu {

// What of a quant::AffineForm shapes the code of its int8 kernel (body/linear_int8.inc): formats with the same one
// share a kernel.
struct Int8Form {
  int bits, scale_group;
  int block_groups;  // 0: the kernel looks it up, with all else that differs between formats with Scales::kNumber
  quant::AffineForm::Scales scales;
  bool has_min, levels;
  int zero, scale_exponent;
  quant::GridForm grid{};  // of compact panels

  friend constexpr bool operator==(const Int8Form&, const Int8Form&) = default;
};

// Kernels take minima of kNumber as what they are beside the middle code, so that codes of 8 bits are multiplied as
// signed bytes.
constexpr Int8Form int8_form(const quant::QuantFormat& format) noexcept {
  const quant::AffineForm& form = format.affine;
  const bool number = form.scales == quant::AffineForm::Scales::kNumber, levels = form.levels != nullptr;
  return {.bits = form.code_bits,
          .scale_group = form.scale_group,
          .block_groups = number ? 0 : format.block_values / kGroup,
          .scales = form.scales,
          .has_min = form.has_min || form.zero_points,
          .levels = levels,
          .zero = number && !levels ? 1 << (form.code_bits - 1) : form.zero,
          .scale_exponent = form.scale_exponent};
}

// Codes below 128 in bytes of their own.
inline constexpr int kSevenBits = 7;

// The form of compact panels (compact_panel.h), of formats with a grid.
inline Int8Form compact_form(const quant::QuantFormat& format) noexcept {
  Int8Form form = int8_form(format);
  form.grid = quant::find_grid(format)->form;
  form.bits = kSevenBits;
  form.levels = false;
  form.zero = quant::kLevelZero;
  return form;
}

// The form of a compact one's panels after they are expanded to bytes.
constexpr Int8Form expanded_form(Int8Form compact) noexcept {
  compact.grid = {};
  return compact;
}

// Whether the kernel of a form multiplies whole blocks as integers (ActivationType::kInt8Block): where that was
// measured to be faster: q4_k gains a fifth on AVX2, an eighth with AVX-512, q5_k a twentieth on both.
constexpr bool in_blocks(const Int8Form& form) noexcept {
  return form.scales == quant::AffineForm::Scales::kProduct && form.has_min && form.scale_group == kGroup &&
         (form.bits == 4 || form.bits == 5) && form.block_groups == kBlockGroups;
}

}  // namespace millrace::backend::cpu
