#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/cpu/pack.h"
#include "backend/cpu/testing/reference.h"
#include "quant/group_format.h"

// For tests of linear kernels: every kernel of every instruction set with every format it takes, weights of each
// format, and activations in each form.

namespace millrace::backend::cpu {

inline constexpr std::int64_t kRows = 65, kOutputs = 100;
inline const float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

struct LinearCase {
  Isa isa;
  const LinearKernel* kernel;
  const quant::QuantFormat* format;
};

// Those of files, and of the formats of groups one of each kernel, with sizes and numbers that take turns.
inline std::vector<const quant::QuantFormat*> tested_formats() {
  std::vector<const quant::QuantFormat*> formats;
  for (const quant::QuantFormat& format : quant::all_formats()) formats.push_back(&format);
  std::map<std::tuple<int, quant::GroupOffset, quant::GroupCodes>, const quant::QuantFormat*> of_kind;
  for (const quant::QuantFormat& format : quant::group_formats()) {
    const quant::GroupSpec& spec = *quant::group_spec(format);
    const auto turn = static_cast<int>(spec.offset) + spec.bits;
    const bool levels = spec.codes != quant::GroupCodes::kInteger;
    if (spec.values != quant::kGroupSizes[turn % 3] || (!levels && static_cast<int>(spec.number) != turn / 2 % 3))
      continue;
    of_kind[{spec.bits, spec.offset, spec.codes}] = &format;
  }
  EXPECT_EQ(of_kind.size(), 21);
  for (const auto& [kind, format] : of_kind) formats.push_back(format);
  return formats;
}

// Kernels registered for both precisions are tested once.
inline std::vector<LinearCase> all_cases() {
  std::vector<LinearCase> cases;
  for (const KernelSet* set : supported_sets()) {
    for (const LinearKernel& kernel : set->linears) {
      for (const quant::QuantFormat* format : tested_formats()) {
        if (kernel.format != "*" && kernel.format != format->name) continue;
        const bool known = std::any_of(cases.begin(), cases.end(), [&](const LinearCase& c) {
          return c.isa == set->isa && c.kernel->run == kernel.run && c.format == format;
        });
        if (!known) cases.push_back({set->isa, &kernel, format});
      }
    }
  }
  return cases;
}

inline std::string case_name(const testing::TestParamInfo<LinearCase>& info) {
  const LinearCase& c = info.param;
  return std::string(to_string(c.isa)) + "_" + std::string(c.kernel->name) + "_" + std::string(c.format->name);
}

// A weight as stored, and what it means.
struct LinearWeight {
  const quant::QuantFormat& format;
  std::int64_t k;
  std::vector<std::byte> stored;
  std::vector<float> exact;       // [kOutputs, k], as the format says
  std::vector<float> values;      // as the kernel multiplies them: rounded to bf16, or levels to integers
  std::vector<double> magnitude;  // |scale * (code - zero)| + |min|: the terms that rounding errors are relative to

  LinearWeight(const LinearCase& c, std::int64_t columns) : format(*c.format), k(columns) {
    const auto row = static_cast<std::size_t>(k);
    values.resize(row * kOutputs);
    stored.resize(format.row_bytes(k) * kOutputs);
    const std::vector<float> source = normal_values(values.size(), 11, 0.05f);
    for (std::size_t r = 0; r < kOutputs; ++r) {
      std::byte* to = stored.data() + r * format.row_bytes(k);
      if (format.pack != nullptr) {
        format.pack(std::span(source).subspan(r * row, row), to);
      } else {
        fill_with_sane_blocks(to, static_cast<unsigned>(r));
      }
      format.unpack(to, std::span(values).subspan(r * row, row));
    }
    exact = values;
    if (c.kernel->name == "bf16") {
      for (float& v : values) v = bf16_to_f32(f32_to_bf16(v));
    }
    for (const float v : values) magnitude.push_back(std::fabs(v));
    if (is_int8(c.kernel->activation) && format.affine.decompose != nullptr) add_affine_magnitude();
  }

 private:
  // For formats that are only read: random bytes, drawn again until a block's values are finite and of moderate size.
  void fill_with_sane_blocks(std::byte* to, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> block(static_cast<std::size_t>(format.block_values));
    for (std::int64_t b = 0; b < k / format.block_values; ++b, to += format.block_bytes) {
      do {
        std::generate_n(to, format.block_bytes, [&] { return static_cast<std::byte>(random()); });
        format.unpack(to, block);
      } while (!std::all_of(block.begin(), block.end(), [](float v) { return std::fabs(v) < 1.0f; }));
    }
  }
  void add_affine_magnitude() {
    quant::AffineBlock parts;
    for (std::size_t at = 0; at < values.size(); at += static_cast<std::size_t>(format.block_values)) {
      const auto block = at / static_cast<std::size_t>(format.block_values);
      format.affine.decompose(stored.data() + block * static_cast<std::size_t>(format.block_bytes), parts);
      for (int i = 0; i < format.block_values; ++i) set_terms(parts, i, at + static_cast<std::size_t>(i));
    }
  }
  // Kernels take levels that are no integers as the nearest ones, and minima of numbers beside the middle code.
  void set_terms(const quant::AffineBlock& parts, int i, std::size_t at) {
    const quant::AffineForm& form = format.affine;
    const int s = form.scales == quant::AffineForm::Scales::kNumber ? 0 : i / form.scale_group;
    double scale = form.scale(parts, s), min = form.min(parts, s), steps = form.steps(parts.codes[i]);
    if (form.exact_levels != nullptr) {
      scale *= static_cast<double>(quant::kLevelUnit);
      values[at] = static_cast<float>(scale * steps);
    } else if (form.zero_points) {
      min = scale * parts.zero_point;
    } else if (form.scales == quant::AffineForm::Scales::kNumber && form.has_min) {
      const int middle = 1 << (form.code_bits - 1);
      min += scale * middle;
      steps -= middle;
    }
    magnitude[at] = std::fabs(scale * steps) + std::fabs(min);
  }
};

// Activations in every form, f32 rows apart by a gap of NaN that no kernel may read.
struct LinearInput {
  std::int64_t k, count, stride;
  std::vector<float> f32;
  std::vector<std::uint16_t> bf16;
  std::map<ActivationType, std::vector<Int8Group>> groups;   // in tiles
  std::map<ActivationType, std::vector<double>> half_steps;  // of each group: what rounding may change a value by

  LinearInput(const std::vector<float>& x, std::int64_t columns)
      : k(columns), count(std::ssize(x) / k), stride(columns + 3) {
    f32.assign(static_cast<std::size_t>(count * stride), kNan);
    bf16.resize(static_cast<std::size_t>(count * k));
    const KernelSet scalar = select_kernels(Isa::kScalar);
    for (std::int64_t r = 0; r < count; ++r) {
      const float* row = x.data() + r * k;
      std::copy(row, row + k, f32.data() + r * stride);
      scalar.to_bf16(row, k, bf16.data() + r * k);
    }
    if (k % kGroup != 0) return;
    for (const auto& [type, run] : {std::pair(ActivationType::kInt8, std::int64_t{kGroup}),
                                    {ActivationType::kInt8Block, kBlockGroups * kGroup},
                                    {ActivationType::kInt8Row, k}}) {
      if (k % run == 0) quantize(scalar, type, run);
    }
  }
  // first is a multiple of kTileRows, or all rows are of one tile.
  Activations rows(ActivationType type, std::int64_t first, std::int64_t n) const {
    const std::int64_t tile = first / kTileRows * kTileRows;
    const auto of_type = groups.find(type);
    const Int8Group* first_group = of_type == groups.end() ? nullptr : of_type->second.data();
    return {.rows = n,
            .k = k,
            .f32 = f32.data() + first * stride,
            .f32_stride = stride,
            .bf16 = bf16.data() + first * k,
            .groups = first_group == nullptr ? nullptr : first_group + tile * (k / kGroup) + first % kTileRows,
            .stored_rows = count - tile};
  }
  // What the kernel is given for x[r][i].
  double seen(ActivationType type, std::int64_t r, std::int64_t i) const {
    if (type == ActivationType::kF32) return f32[static_cast<std::size_t>(r * stride + i)];
    if (type == ActivationType::kBf16) return bf16_to_f32(bf16[static_cast<std::size_t>(r * k + i)]);
    const Activations all = rows(type, 0, count);
    const Int8Group& group = all.groups[all.int8_at(r) + i / kGroup * all.int8_step(r)];
    const int times = type == ActivationType::kInt8Block ? group.multiplier[0] : 1;
    return static_cast<double>(group.scale) * times * group.codes[i % kGroup];
  }
  double half_step(ActivationType type, std::int64_t r, std::int64_t i) const {
    return half_steps.at(type)[static_cast<std::size_t>(r * (k / kGroup) + i / kGroup)];
  }

 private:
  double largest(std::int64_t r, std::int64_t first, std::int64_t n) const {
    double out = 0.0;
    for (std::int64_t i = first; i < first + n; ++i)
      out = std::max(out, std::fabs(static_cast<double>(f32[static_cast<std::size_t>(r * stride + i)])));
    return out;
  }
  void quantize(const KernelSet& scalar, ActivationType type, std::int64_t run) {
    groups[type].resize(static_cast<std::size_t>(count * (k / kGroup)));
    const Activations all = rows(type, 0, count);
    for (std::int64_t r = 0; r < count; ++r) {
      scalar.quantize(f32.data() + r * stride, k, type, groups[type].data() + all.int8_at(r), all.int8_step(r));
      for (std::int64_t i = 0; i < k; i += kGroup) {
        const double of_run = largest(r, i / run * run, run) / 254.0;
        const double of_group = largest(r, i, kGroup) / 254.0 + of_run / kMaxMultiplier;  // multipliers are rounded up
        half_steps[type].push_back(type == ActivationType::kInt8Block ? of_group : of_run);
      }
    }
  }
};

}  // namespace millrace::backend::cpu
