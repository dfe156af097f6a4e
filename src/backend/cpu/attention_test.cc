// Attention kernels of every instruction set and page type against float64, over scattered pages full of NaN where
// nothing was written.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "backend/cpu/test_reference.h"

namespace millrace::backend::cpu {
namespace {

struct Shape {
  std::int64_t head_dim, group, kv_length, n_rows = 1, window = 0;
};

// One kv head of one sequence: pages in a random order in memory, with unused ones between.
class Sequence {
 public:
  Sequence(DType type, const Shape& shape) : type_(type), shape_(shape) {
    const std::int64_t used = (shape.kv_length + kPageTokens - 1) / kPageTokens;
    page_bytes_ = static_cast<std::size_t>(2 * shape.head_dim * kPageTokens) * size_of(type);
    pages_.resize(static_cast<std::size_t>(2 * used + 1));
    std::iota(pages_.begin(), pages_.end(), 0);
    std::shuffle(pages_.begin(), pages_.end(), std::mt19937(3));
    store_.assign(pages_.size() * page_bytes_, std::byte{0xff});  // NaN in every type
    const auto size = static_cast<std::size_t>(shape.kv_length * shape.head_dim);
    keys_ = normal_values(size, 1);
    values_ = normal_values(size, 2);
    q_ = normal_values(static_cast<std::size_t>(shape.n_rows * shape.group * shape.head_dim), 4);
    for (std::int64_t t = 0; t < shape.kv_length; ++t) write(t);
    // Pages that the window has left behind belong to somebody else by now.
    for (std::int64_t p = 0; shape.window > 0 && (p + 1) * kPageTokens <= first_visible(); ++p) {
      pages_[static_cast<std::size_t>(p)] = pages_.back();
    }
  }

  AttendRows rows(std::vector<float>& out) const {
    const std::int64_t stride = shape_.group * shape_.head_dim;
    out.assign(q_.size(), -1.0f);
    AttendRows rows{};
    rows.q = q_.data();
    rows.q_stride = rows.out_stride = stride;
    rows.out = out.data();
    rows.n_rows = shape_.n_rows;
    rows.group = shape_.group;
    rows.first_position = shape_.kv_length - shape_.n_rows;
    rows.window = shape_.window;
    rows.scale = scale();
    rows.pages = pages_.data();
    rows.kv_base = store_.data();
    rows.page_bytes = page_bytes_;
    rows.head_dim = shape_.head_dim;
    const std::int64_t lowest =
        shape_.window > 0 ? std::max<std::int64_t>(0, rows.first_position - shape_.window + 1) : 0;
    rows.first_split = lowest / kSplitTokens;
    rows.last_split = (shape_.kv_length + kSplitTokens - 1) / kSplitTokens;
    return rows;
  }

  std::vector<double> reference() const {
    std::vector<double> out;
    const std::int64_t dim = shape_.head_dim;
    for (std::int64_t r = 0; r < shape_.n_rows * shape_.group; ++r) {
      const std::int64_t last = shape_.kv_length - shape_.n_rows + r / shape_.group;
      const std::int64_t first = shape_.window > 0 ? std::max<std::int64_t>(0, last - shape_.window + 1) : 0;
      std::vector<double> weights, row(static_cast<std::size_t>(dim), 0.0);
      for (std::int64_t t = first; t <= last; ++t) {
        double dot = 0.0;
        for (std::int64_t d = 0; d < dim; ++d) dot += static_cast<double>(q_[at(r, d)]) * keys_[at(t, d)];
        weights.push_back(dot * static_cast<double>(scale()));
      }
      const double largest = *std::max_element(weights.begin(), weights.end());
      double sum = 0.0;
      for (double& w : weights) sum += w = std::exp(w - largest);
      for (std::int64_t t = first; t <= last; ++t) {
        const double w = weights[static_cast<std::size_t>(t - first)] / sum;
        for (std::int64_t d = 0; d < dim; ++d) row[static_cast<std::size_t>(d)] += w * values_[at(t, d)];
      }
      out.insert(out.end(), row.begin(), row.end());
    }
    return out;
  }

 private:
  // The first position that row 0 sees.
  std::int64_t first_visible() const {
    return shape_.window > 0 ? std::max<std::int64_t>(0, shape_.kv_length - shape_.n_rows - shape_.window + 1) : 0;
  }
  std::size_t at(std::int64_t row, std::int64_t d) const { return static_cast<std::size_t>(row * shape_.head_dim + d); }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(shape_.head_dim)); }

  // Rounds the token to the page's type, so that the reference sees what the kernel does.
  void write(std::int64_t t) {
    std::byte* page =
        store_.data() + static_cast<std::size_t>(pages_[static_cast<std::size_t>(t / kPageTokens)]) * page_bytes_;
    const std::int64_t slot = t % kPageTokens;
    for (std::int64_t d = 0; d < shape_.head_dim; ++d) {
      put(page, d * kPageTokens + slot, keys_[at(t, d)]);
      put(page, shape_.head_dim * kPageTokens + slot * shape_.head_dim + d, values_[at(t, d)]);
    }
  }
  void put(std::byte* page, std::int64_t index, float& value) {
    std::byte* to = page + static_cast<std::size_t>(index) * size_of(type_);
    if (type_ == DType::kF32) {
      std::memcpy(to, &value, sizeof(value));
      return;
    }
    const std::uint16_t bits = type_ == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
    value = type_ == DType::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
    std::memcpy(to, &bits, sizeof(bits));
  }

  DType type_;
  Shape shape_;
  std::size_t page_bytes_ = 0;
  std::vector<std::int32_t> pages_;
  std::vector<std::byte> store_;
  std::vector<float> keys_, values_, q_;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const std::int64_t head_dim : {16, 64, 80, 128, 256}) {
    for (const std::int64_t group : {1, 3, 8}) all.push_back({head_dim, group, 77, 5});
  }
  for (const std::int64_t length : {1, 31, 32, 33, 511, 512, 513, 1100}) {
    for (const std::int64_t window : {0, 1, 40, 600}) {
      for (const std::int64_t rows : {1, 7}) {
        if (rows <= length) all.push_back({16, 3, length, rows, window});
      }
    }
  }
  return all;
}

std::string describe(const Shape& s) {
  return "head_dim " + std::to_string(s.head_dim) + " group " + std::to_string(s.group) + " length " +
         std::to_string(s.kv_length) + " rows " + std::to_string(s.n_rows) + " window " + std::to_string(s.window);
}

struct Case {
  const KernelSet* set;
  DType type;
  void (*attend)(const AttendRows&);
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const KernelSet* set : supported_sets()) {
    if (set->attend_f32 != nullptr) cases.push_back({set, DType::kF32, set->attend_f32});
    if (set->attend_f16 != nullptr) cases.push_back({set, DType::kF16, set->attend_f16});
    if (set->attend_bf16 != nullptr) cases.push_back({set, DType::kBF16, set->attend_bf16});
  }
  return cases;
}

class AttentionKernels : public testing::TestWithParam<Case> {};

// Scores of normal data are off by at most head_dim roundings of |q||k| scale < 10, exp2 by 2e-7, the weighted sum by
// one rounding a token: together below 3e-6.
TEST_P(AttentionKernels, MatchFloat64AndReadNoSlotPastTheEnd) {
  for (const Shape& shape : shapes()) {
    const Sequence sequence(GetParam().type, shape);
    std::vector<float> out;
    GetParam().attend(sequence.rows(out));
    const std::vector<double> expected = sequence.reference();
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_NEAR(out[i], expected[i], 3e-6) << describe(shape) << " at " << i;
  }
}

TEST_P(AttentionKernels, ComputeARowAloneAsInAChunk) {
  for (const Shape& shape : shapes()) {
    const Sequence sequence(GetParam().type, shape);
    std::vector<float> whole, single;
    GetParam().attend(sequence.rows(whole));
    const AttendRows all = sequence.rows(single);
    for (std::int64_t r = 0; r < shape.n_rows; ++r) {
      AttendRows row = all;
      row.q += r * all.q_stride;
      row.out += r * all.out_stride;
      row.n_rows = 1;
      row.first_position += r;
      row.last_split = (row.first_position + kSplitTokens) / kSplitTokens;
      row.first_split =
          shape.window > 0 ? std::max<std::int64_t>(0, row.first_position - shape.window + 1) / kSplitTokens : 0;
      GetParam().attend(row);
    }
    EXPECT_TRUE(same_bits(whole, single)) << describe(shape);
  }
}

TEST_P(AttentionKernels, MergeSplitsOfOtherTasksToTheSameBits) {
  for (const Shape& shape : shapes()) {
    const Sequence sequence(GetParam().type, shape);
    std::vector<float> whole, merged;
    GetParam().attend(sequence.rows(whole));
    const AttendRows all = sequence.rows(merged);
    const std::int64_t rows = shape.n_rows * shape.group, state = 2 + shape.head_dim,
                       splits = all.last_split - all.first_split;
    std::vector<float> partials(static_cast<std::size_t>(splits * rows * state));
    for (std::int64_t s = 0; s < splits; ++s) {
      AttendRows task = all;
      task.first_split = all.first_split + s;
      task.last_split = task.first_split + 1;
      task.partials = partials.data() + s * rows * state;
      GetParam().attend(task);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      GetParam().set->merge_splits(partials.data() + r * state, splits, rows * state, shape.head_dim,
                                   merged.data() + r * shape.head_dim);
    }
    EXPECT_TRUE(same_bits(whole, merged)) << describe(shape);
  }
}

TEST_P(AttentionKernels, GiveTheBitsOfTheScalarKernel) {
  const KernelSet scalar = select_kernels(Isa::kScalar);
  auto* attend = GetParam().type == DType::kF32   ? scalar.attend_f32
                 : GetParam().type == DType::kF16 ? scalar.attend_f16
                                                  : scalar.attend_bf16;
  for (const Shape& shape : shapes()) {
    const Sequence sequence(GetParam().type, shape);
    std::vector<float> expected, out;
    attend(sequence.rows(expected));
    GetParam().attend(sequence.rows(out));
    EXPECT_TRUE(same_bits(expected, out)) << describe(shape);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionKernels, testing::ValuesIn(all_cases()), [](const auto& tested) {
  return std::string(to_string(tested.param.set->isa)) + "_" + std::string(to_string(tested.param.type));
});

}  // namespace
}  // namespace millrace::backend::cpu
