// Adapters inside products: what they add against float64, that rows without them keep their bits, and that a row's
// bits depend on nothing but the row and its adapters.

#include "backend/low_rank.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/testing/reference.h"
#include "backend/testing/device_rows.h"
#include "backend/testing/test_backend.h"

namespace millrace::backend {
namespace {

struct AdapterForm {
  const char* base;     // format of the weights
  const char* adapter;  // of A; B has it too if it is one of 8 bits and the rank a multiple of 16, else f32
  double error;         // of an output, beside its own size
};
const std::vector<AdapterForm> kAdapterForms = {
    {"f32", "f32", 2e-5},   {"f32", "bf16", 2e-2},  {"bf16", "bf16", 2e-2}, {"q4_0", "bf16", 2e-2},
    {"q4_0", "q8_0", 5e-2}, {"q8_0", "q8_0", 5e-2}, {"q4_k", "q8_0", 5e-2}, {"int8_row", "bf16", 2e-2},
};
constexpr std::int64_t kAdapterInputs = 256, kHidden = 512;
const std::vector<std::int64_t> kStackedRows = {48, 32, 20};  // rows of the weights of one Linear
constexpr std::int64_t kOutputColumns = 100;

// A matrix that the backend reads in a format, and its own values.
struct AdapterMatrix {
  std::int64_t rows, cols;
  Values values;

  AdapterMatrix(std::int64_t n, std::int64_t k, unsigned seed) : rows(n), cols(k), values(random_values(n * k, seed)) {
    for (float& v : values) v /= std::sqrt(static_cast<float>(k));
  }
  WeightSource source(const char* name) const { return packed_source(name, rows, cols, values); }
  double product(std::int64_t row, const double* x) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < cols; ++i)
      sum += static_cast<double>(values[static_cast<std::size_t>(row * cols + i)]) * x[i];
    return sum;
  }
};

// An adapter of one Linear: a B for some of its weights, and an A for each, or one for all.
struct TestAdapter {
  std::vector<AdapterMatrix> a, b, whole;
  std::vector<Values> factors, biases;
  std::vector<std::int64_t> stacked;
  bool one_a;
  std::unique_ptr<LowRank> packed;

  // `all_kinds`: also factors and biases, and a matrix that takes x, for each of the weights.

  TestAdapter(Backend& backend, const Linear& base, std::vector<std::int64_t> weights,
              const std::vector<std::int64_t>& rows, std::int64_t rank, bool shared, const char* format, unsigned seed,
              bool all_kinds = false)
      : stacked(std::move(weights)), one_a(shared) {
    LowRankSource source{.base = &base};
    const bool int8 = std::string_view(format) == "q8_0" && rank % 16 == 0;
    a.reserve(stacked.size());
    b.reserve(stacked.size());
    for (std::size_t i = 0; i < stacked.size(); ++i) {
      if (i == 0 || !one_a) a.emplace_back(rank, base.k(), seed++);
      b.emplace_back(rows[static_cast<std::size_t>(stacked[i])], rank, seed++);
      if (i == 0 || !one_a) source.shrinks.push_back({a.back().source(format), 1.5f});
      source.expands.push_back({stacked[i], std::ssize(source.shrinks) - 1, b.back().source(int8 ? "int8_16" : "f32")});
    }
    whole.reserve(stacked.size());
    for (std::size_t i = 0; all_kinds && i < stacked.size(); ++i) {
      const std::int64_t n = rows[static_cast<std::size_t>(stacked[i])];
      whole.emplace_back(n, base.k(), seed++);
      factors.push_back(random_values(n, seed++));
      biases.push_back(random_values(n, seed++));
      source.expands[i].factor = factors.back();
      source.expands[i].bias = biases.back();
      source.expands.push_back({stacked[i], LowRankSource::Expand::kInput, whole.back().source(format)});
    }
    std::vector<LowRankSource> sources;
    sources.push_back(std::move(source));
    packed = std::move(backend.make_low_ranks(std::move(sources), MatmulPrecision::kAuto).front());
  }
  // Changes out, whose weights have these rows; `bias` is the base's.
  void apply(const double* x, double scale, const std::vector<std::int64_t>& rows, double* out,
             const float* bias = nullptr) const {
    for (std::size_t i = 0; i < stacked.size(); ++i) {
      const AdapterMatrix& first = a[one_a ? 0 : i];
      std::vector<double> ranks;
      for (std::int64_t r = 0; r < first.rows; ++r) ranks.push_back(1.5 * scale * first.product(r, x));
      std::int64_t column = 0;
      for (std::int64_t w = 0; w < stacked[i]; ++w) column += rows[static_cast<std::size_t>(w)];
      for (std::int64_t r = 0; r < b[i].rows; ++r) {
        double& y = out[column + r];
        if (!whole.empty()) {
          const auto row = static_cast<std::size_t>(r);
          y += scale * (factors[i][row] - 1.0) * (y - (bias == nullptr ? 0.0 : bias[column + r]));
          y += scale * (biases[i][row] + whole[i].product(r, x));
        }
        y += b[i].product(r, ranks.data());
      }
    }
  }
};

class LowRankTest : public testing::TestWithParam<AdapterForm> {
 protected:
  std::unique_ptr<Linear> base(Backend& backend, const std::vector<AdapterMatrix>& weights) const {
    std::vector<WeightSource> sources;
    for (const AdapterMatrix& matrix : weights) sources.push_back(matrix.source(GetParam().base));
    return backend.make_linear(std::move(sources), MatmulPrecision::kAuto);
  }
  const std::vector<AdapterMatrix> stacked_ = {
      {48, kAdapterInputs, 1}, {32, kAdapterInputs, 2}, {20, kAdapterInputs, 3}};
  const std::vector<AdapterMatrix> up_ = {{kHidden, kAdapterInputs, 4}, {kHidden, kAdapterInputs, 5}},
                                   down_ = {{kAdapterInputs, kHidden, 6}};
};

std::string isa_name(const cpu::KernelSet& set) { return std::string(to_string(set.isa)); }

// All instruction sets once.
std::vector<std::string> isas() {
  std::vector<std::string> names;
  for (const cpu::KernelSet* set : cpu::supported_sets()) {
    if (std::ranges::find(names, isa_name(*set)) == names.end()) names.push_back(isa_name(*set));
  }
  return names;
}

TEST_P(LowRankTest, AddsBTimesATimesX) {
  for (const std::string& isa : isas()) {
    SCOPED_TRACE(isa);
    const auto backend = make_test_backend(2, isa);
    const auto weight = base(*backend, stacked_);
    const TestAdapter q_and_v(*backend, *weight, {0, 2}, kStackedRows, 6, false, GetParam().adapter, 10);
    const TestAdapter all(*backend, *weight, {0, 1, 2}, kStackedRows, 32, true, GetParam().adapter, 20);
    const std::int64_t rows = 9;
    const Values x = random_values(rows * kAdapterInputs, 30);
    const DeviceBuffer input = matrix(*backend, x), plain = matrix(*backend, Values(rows * kOutputColumns));
    const DeviceBuffer adapted = matrix(*backend, Values(rows * kOutputColumns));
    // Rows 0 and 1 have none, 2 to 4 the first, 5 and 6 the second, 7 and 8 both.
    const std::vector<AdapterRows> adapters = {{2, 3, q_and_v.packed.get(), 1.0f},
                                               {5, 2, all.packed.get(), 0.5f},
                                               {7, 2, q_and_v.packed.get(), 2.0f},
                                               {7, 2, all.packed.get(), -1.0f}};
    backend->linear(*weight, {}, input.view(rows, kAdapterInputs), plain.view(rows, kOutputColumns));
    backend->linear(*weight, {.adapters = adapters}, input.view(rows, kAdapterInputs),
                    adapted.view(rows, kOutputColumns));
    const Values without = values_of(*backend, plain.view(rows, kOutputColumns)),
                 with = values_of(*backend, adapted.view(rows, kOutputColumns));
    EXPECT_TRUE(std::equal(without.begin(), without.begin() + 2 * kOutputColumns, with.begin()));
    for (std::int64_t r = 2; r < rows; ++r) {
      const std::vector<double> of_row(x.begin() + r * kAdapterInputs, x.begin() + (r + 1) * kAdapterInputs);
      std::vector<double> added(kOutputColumns);
      if (r < 5) q_and_v.apply(of_row.data(), 1.0, kStackedRows, added.data());
      if (r == 5 || r == 6) all.apply(of_row.data(), 0.5, kStackedRows, added.data());
      if (r > 6) q_and_v.apply(of_row.data(), 2.0, kStackedRows, added.data());
      if (r > 6) all.apply(of_row.data(), -1.0, kStackedRows, added.data());
      double size = 0.0, error = 0.0;
      for (std::int64_t c = 0; c < kOutputColumns; ++c) {
        const auto at = static_cast<std::size_t>(r * kOutputColumns + c);
        const double difference = static_cast<double>(with[at]) - without[at] - added[static_cast<std::size_t>(c)];
        size += added[static_cast<std::size_t>(c)] * added[static_cast<std::size_t>(c)];
        error += difference * difference;
      }
      EXPECT_GT(size, 0.0);
      EXPECT_LT(std::sqrt(error / size), GetParam().error) << "row " << r;
    }
  }
}

// Two adapters with factors one after the other, of a product with biases, which is added to what is there.
TEST_P(LowRankTest, AppliesFactorsBiasesAndWholeMatrices) {
  const auto backend = make_test_backend(2);
  const auto weight = base(*backend, stacked_);
  const TestAdapter q_and_v(*backend, *weight, {0, 2}, kStackedRows, 6, false, GetParam().adapter, 10, true);
  const TestAdapter all(*backend, *weight, {0, 1, 2}, kStackedRows, 20, true, GetParam().adapter, 30, true);
  const Values bias = random_values(kOutputColumns, 50);
  const DeviceVector of_weight = backend->make_vector(bias);
  for (const std::int64_t rows : {3, 40}) {  // columns that workers share, and blocks of rows
    const Values x = random_values(rows * kAdapterInputs, 60), before = random_values(rows * kOutputColumns, 61);
    const DeviceBuffer input = matrix(*backend, x), plain = matrix(*backend, Values(rows * kOutputColumns)),
                       adapted = matrix(*backend, before);
    const std::vector<AdapterRows> adapters = {{1, rows - 1, q_and_v.packed.get(), 0.5f},
                                               {2, rows - 2, all.packed.get(), 2.0f}};
    backend->linear(*weight, {.bias = of_weight.address()}, input.view(rows, kAdapterInputs),
                    plain.view(rows, kOutputColumns));
    backend->linear(*weight, {.bias = of_weight.address(), .accumulate = true, .adapters = adapters},
                    input.view(rows, kAdapterInputs), adapted.view(rows, kOutputColumns));
    const Values without = values_of(*backend, plain.view(rows, kOutputColumns)),
                 with = values_of(*backend, adapted.view(rows, kOutputColumns));
    double size = 0.0, error = 0.0;
    for (std::int64_t r = 1; r < rows; ++r) {
      const std::vector<double> of_row(x.begin() + r * kAdapterInputs, x.begin() + (r + 1) * kAdapterInputs);
      std::vector<double> expected(without.begin() + r * kOutputColumns, without.begin() + (r + 1) * kOutputColumns);
      q_and_v.apply(of_row.data(), 0.5, kStackedRows, expected.data(), bias.data());
      if (r > 1) all.apply(of_row.data(), 2.0, kStackedRows, expected.data(), bias.data());
      for (std::int64_t c = 0; c < kOutputColumns; ++c) {
        const auto at = static_cast<std::size_t>(r * kOutputColumns + c);
        const double value = expected[static_cast<std::size_t>(c)];
        const double difference = static_cast<double>(with[at]) - before[at] - value;
        size += value * value;
        error += difference * difference;
      }
    }
    EXPECT_GT(size, 0.0);
    EXPECT_LT(std::sqrt(error / size), GetParam().error) << rows;
  }
}

// What the rows of a step give in the two operations: a product that is added to what is there, and an MLP.
struct RowResults {
  Values linear, mlp;
};

TEST_P(LowRankTest, NoRowDependsOnOthersOrOnThreads) {
  const std::vector<std::int64_t> wide = {kHidden, kHidden}, narrow = {kAdapterInputs};
  for (const std::string& isa : isas()) {
    SCOPED_TRACE(isa);
    constexpr std::int64_t kMost = 150;
    const Values x = random_values(kMost * kAdapterInputs, 40), before = random_values(kMost * kOutputColumns, 41);
    const Values ones(kAdapterInputs, 1.0f);
    std::vector<RowResults> alone;
    for (const int threads : {1, 3}) {
      const auto backend = make_test_backend(threads, isa);
      const auto weight = base(*backend, stacked_), up = base(*backend, up_), down = base(*backend, down_);
      const DeviceVector norm_weight = backend->make_vector(ones);
      const Norm norm{.weight = norm_weight.address()};
      struct Packed {
        TestAdapter linear, up, down;
      };
      std::vector<Packed> packed;
      for (unsigned i = 0; i < 3; ++i) {
        const std::int64_t rank = 4 + 14 * static_cast<std::int64_t>(i);
        const bool kinds = i == 2;
        packed.push_back(
            {{*backend, *weight, {0, 2}, kStackedRows, rank, false, GetParam().adapter, 50 + 20 * i, kinds},
             {*backend, *up, {0, 1}, wide, rank, i == 1, GetParam().adapter, 150 + 20 * i, kinds},
             {*backend, *down, {0}, narrow, rank, false, GetParam().adapter, 250 + 20 * i, kinds}});
      }
      // Seven rows after the other have the same: none, one of three, or two.
      const auto adapters_of = [&](std::int64_t first, std::int64_t rows, TestAdapter Packed::* of) {
        std::vector<AdapterRows> list;
        for (std::int64_t row = first; row < first + rows;) {
          const std::int64_t group = row / 7, n = std::min(first + rows, 7 * (group + 1)) - row;
          const auto add = [&](std::int64_t i, float scale) {
            list.push_back({row - first, n, (packed[static_cast<std::size_t>(i % 3)].*of).packed.get(), scale});
          };
          if (group % 5 != 0) add(group, 1.0f);
          if (group % 5 == 4) add(group + 1, 0.25f);
          row += n;
        }
        return list;
      };
      const auto run = [&](std::int64_t first, std::int64_t rows) {
        const auto of_linear = adapters_of(first, rows, &Packed::linear);
        const auto of_up = adapters_of(first, rows, &Packed::up), of_down = adapters_of(first, rows, &Packed::down);
        const auto part = [&](const Values& all, std::int64_t cols) {
          return Values(all.begin() + first * cols, all.begin() + (first + rows) * cols);
        };
        const DeviceBuffer input = matrix(*backend, part(x, kAdapterInputs)),
                           out = matrix(*backend, part(before, kOutputColumns));
        const DeviceBuffer hidden = matrix(*backend, part(x, kAdapterInputs));
        backend->linear(*weight, {.norm = norm, .accumulate = true, .adapters = of_linear},
                        input.view(rows, kAdapterInputs), out.view(rows, kOutputColumns));
        backend->mlp({.norm = norm, .up = up.get(), .down = down.get(), .up_adapters = of_up, .down_adapters = of_down},
                     hidden.view(rows, kAdapterInputs), hidden.view(rows, kAdapterInputs));
        return RowResults{values_of(*backend, out.view(rows, kOutputColumns)),
                          values_of(*backend, hidden.view(rows, kAdapterInputs))};
      };
      for (std::int64_t r = 0; alone.size() < static_cast<std::size_t>(kMost); ++r) alone.push_back(run(r, 1));
      for (const std::int64_t rows : {std::int64_t{2}, std::int64_t{13}, std::int64_t{40}, kMost}) {
        SCOPED_TRACE(rows);
        const RowResults together = run(0, rows);
        for (std::int64_t r = 0; r < rows; ++r) {
          const RowResults& one = alone[static_cast<std::size_t>(r)];
          const auto row = [r](const Values& all, std::int64_t cols) {
            return std::span(all).subspan(static_cast<std::size_t>(r * cols), static_cast<std::size_t>(cols));
          };
          ASSERT_TRUE(cpu::same_bits(one.linear, row(together.linear, kOutputColumns))) << r;
          ASSERT_TRUE(cpu::same_bits(one.mlp, row(together.mlp, kAdapterInputs))) << r;
        }
      }
    }
  }
}

// W + 1.5 B A, of weight number `i` of the Linear.
AdapterMatrix merged(const AdapterMatrix& weight, const TestAdapter& adapter, std::size_t i) {
  AdapterMatrix sum = weight;
  const AdapterMatrix &a = adapter.a[i], &b = adapter.b[i];
  for (std::int64_t r = 0; r < weight.rows; ++r) {
    for (std::int64_t c = 0; c < weight.cols; ++c) {
      double added = 0.0;
      for (std::int64_t k = 0; k < a.rows; ++k) {
        added += static_cast<double>(b.values[static_cast<std::size_t>(r * a.rows + k)]) *
                 a.values[static_cast<std::size_t>(k * weight.cols + c)];
      }
      sum.values[static_cast<std::size_t>(r * weight.cols + c)] += static_cast<float>(1.5 * added);
    }
  }
  return sum;
}

TEST(LowRankMlp, IsThatOfTheMergedWeights) {
  const std::vector<std::int64_t> wide = {kHidden, kHidden}, narrow = {kAdapterInputs};
  const AdapterMatrix gate(kHidden, kAdapterInputs, 4), up(kHidden, kAdapterInputs, 5),
      down(kAdapterInputs, kHidden, 6);
  const auto backend = make_test_backend(2);
  const auto linear = [&](const std::vector<const AdapterMatrix*>& weights) {
    std::vector<WeightSource> sources;
    for (const AdapterMatrix* weight : weights) sources.push_back(weight->source("f32"));
    return backend->make_linear(std::move(sources), MatmulPrecision::kF32);
  };
  const auto both = linear({&gate, &up}), last = linear({&down});
  const TestAdapter of_up(*backend, *both, {0, 1}, wide, 6, false, "f32", 50);
  const TestAdapter of_down(*backend, *last, {0}, narrow, 6, false, "f32", 60);
  const AdapterMatrix other_gate = merged(gate, of_up, 0), other_up = merged(up, of_up, 1);
  const AdapterMatrix other_down = merged(down, of_down, 0);
  const auto other_both = linear({&other_gate, &other_up}), other_last = linear({&other_down});
  for (const std::int64_t rows : {1, 40}) {  // columns that workers share, and blocks of rows
    const DeviceBuffer x = matrix(*backend, random_values(rows * kAdapterInputs, 70));
    const DeviceBuffer out = matrix(*backend, Values(static_cast<std::size_t>(2 * rows * kAdapterInputs)));
    const DeviceView input = x.view(rows, kAdapterInputs), results = out.view(2 * rows, kAdapterInputs);
    const std::vector<AdapterRows> to_up = {{0, rows, of_up.packed.get()}}, to_down = {{0, rows, of_down.packed.get()}};
    backend->mlp(
        {.up = both.get(), .down = last.get(), .accumulate = false, .up_adapters = to_up, .down_adapters = to_down},
        input, results.row_range(0, rows));
    backend->mlp({.up = other_both.get(), .down = other_last.get(), .accumulate = false}, input,
                 results.row_range(rows, rows));
    const Values found = values_of(*backend, results);
    double size = 0.0, error = 0.0;
    for (std::size_t i = 0; i < found.size() / 2; ++i) {
      const double expected = found[found.size() / 2 + i];
      size += expected * expected;
      error += (found[i] - expected) * (found[i] - expected);
    }
    EXPECT_GT(size, 0.0);
    EXPECT_LT(std::sqrt(error / size), 1e-5) << rows;
  }
}

// Outputs that a matrix of low rank is added to one by one, wherever panels and pieces of columns begin and end.
TEST(LowRankOutputs, AreThoseOfTheirNumbers) {
  const auto backend = make_test_backend(2);
  const AdapterMatrix weight(100, kAdapterInputs, 1), a(4, kAdapterInputs, 2);
  const auto source_of = [](const AdapterMatrix& matrix) {
    std::vector<WeightSource> sources;
    sources.push_back(matrix.source("f32"));
    return sources;
  };
  const auto base = backend->make_linear(source_of(weight), MatmulPrecision::kF32);
  const std::vector<std::int32_t> outputs = {0, 15, 99};
  LowRankSource changed{.base = base.get()};
  changed.shrinks.push_back({a.source("f32"), 1.0f});
  changed.expands.push_back({.stacked = 0, .shrink = 0, .outputs = outputs});
  std::vector<LowRankSource> sources;
  sources.push_back(std::move(changed));
  const auto packed = std::move(backend->make_low_ranks(std::move(sources), MatmulPrecision::kF32).front());
  for (const std::int64_t rows : {2, 40}) {
    const Values x = random_values(rows * kAdapterInputs, 3);
    const DeviceBuffer input = matrix(*backend, x),
                       out = matrix(*backend, Values(static_cast<std::size_t>(rows * 100)));
    const std::vector<AdapterRows> adapters = {{1, rows - 1, packed.get(), 0.5f}};
    backend->linear(*base, {.adapters = adapters}, input.view(rows, kAdapterInputs), out.view(rows, 100));
    const Values found = values_of(*backend, out.view(rows, 100));
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::vector<double> of_row(x.begin() + r * kAdapterInputs, x.begin() + (r + 1) * kAdapterInputs);
      for (std::int64_t c = 0; c < 100; ++c) {
        double expected = weight.product(c, of_row.data());
        const auto at = std::ranges::find(outputs, c);
        if (r > 0 && at != outputs.end()) expected += 0.5 * a.product(at - outputs.begin(), of_row.data());
        EXPECT_NEAR(found[static_cast<std::size_t>(r * 100 + c)], expected, 1e-5) << r << ' ' << c;
      }
    }
  }
}

TEST(RowDelta, AddsToTheRowsThatAreGathered) {
  constexpr std::int64_t kTokens = 40, kSize = 96, kRank = 4;
  const auto backend = make_test_backend(2);
  const AdapterMatrix table(kTokens, kSize, 1), a(kTokens, kRank, 2), b(kSize, kRank, 3), all(kTokens, kSize, 4),
      some(3, kSize, 5);
  std::vector<WeightSource> sources;
  sources.push_back(table.source("f32"));
  const auto weight = backend->make_linear(std::move(sources), MatmulPrecision::kF32);
  const std::vector<std::int32_t> changed = {3, 17, 39};
  const auto low = backend->make_row_delta(
      {.base = weight.get(), .a = a.source("f32"), .b = b.source("f32"), .scale = 0.5f, .d = all.source("f32")});
  const auto few = backend->make_row_delta({.base = weight.get(), .d = some.source("f32"), .ids = changed});
  const std::vector<std::int32_t> ids = {17, 17, 5, 39, 3, 17};
  const std::vector<AdapterRows> adapters = {{1, 3, low.get(), 2.0f}, {3, 3, few.get(), -1.0f}};
  const DeviceBuffer out = matrix(*backend, Values(ids.size() * kSize));
  const DeviceView view = out.view(std::ssize(ids), kSize);
  backend->gather(*weight, ids, {.adapters = adapters}, view);
  const Values found = values_of(*backend, view);
  const auto at = [](const AdapterMatrix& matrix, std::int64_t row, std::int64_t col) {
    return static_cast<double>(matrix.values[static_cast<std::size_t>(row * matrix.cols + col)]);
  };
  for (std::size_t t = 0; t < ids.size(); ++t) {
    for (std::int64_t c = 0; c < kSize; ++c) {
      double expected = at(table, ids[t], c);
      if (t >= 1 && t < 4) {
        for (std::int64_t k = 0; k < kRank; ++k) expected += 2.0 * 0.5 * at(a, ids[t], k) * at(b, c, k);
        expected += 2.0 * at(all, ids[t], c);
      }
      const auto slot = std::ranges::find(changed, ids[t]);
      if (t >= 3 && slot != changed.end()) expected -= at(some, slot - changed.begin(), c);
      EXPECT_NEAR(found[t * kSize + static_cast<std::size_t>(c)], expected, 1e-6) << t << ' ' << c;
    }
  }
}

std::string adapter_form_name(const testing::TestParamInfo<AdapterForm>& info) {
  return std::string(info.param.adapter) + "_on_" + info.param.base;
}
INSTANTIATE_TEST_SUITE_P(Adapters, LowRankTest, testing::ValuesIn(kAdapterForms), adapter_form_name);

}  // namespace
}  // namespace millrace::backend
