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
  const char* adapter;  // of A
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
  WeightSource source(const char* name) const {
    const quant::QuantFormat* format = quant::find_format(name);
    WeightSource source{.name = "w", .format = format, .rows = rows, .cols = cols, .read = {}};
    source.read = [this, format](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
      for (std::int64_t r = 0; r < count; ++r) {
        const auto row =
            std::span(values).subspan(static_cast<std::size_t>((first + r) * cols), static_cast<std::size_t>(cols));
        format->pack(row, out.data() + static_cast<std::size_t>(r) * format->row_bytes(cols));
      }
    };
    return source;
  }
  double product(std::int64_t row, const double* x) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < cols; ++i)
      sum += static_cast<double>(values[static_cast<std::size_t>(row * cols + i)]) * x[i];
    return sum;
  }
};

// An adapter of one Linear: a B for some of its weights, and an A for each, or one for all.
struct TestAdapter {
  std::vector<AdapterMatrix> a, b;
  std::vector<std::int64_t> stacked;
  bool one_a;
  std::unique_ptr<LowRank> packed;

  TestAdapter(Backend& backend, const Linear& base, std::vector<std::int64_t> weights,
              const std::vector<std::int64_t>& rows, std::int64_t rank, bool shared, const char* format, unsigned seed)
      : stacked(std::move(weights)), one_a(shared) {
    LowRankSource source{.base = &base};
    a.reserve(stacked.size());
    b.reserve(stacked.size());
    for (std::size_t i = 0; i < stacked.size(); ++i) {
      if (i == 0 || !one_a) a.emplace_back(rank, base.k(), seed++);
      b.emplace_back(rows[static_cast<std::size_t>(stacked[i])], rank, seed++);
      if (i == 0 || !one_a) source.shrinks.push_back({a.back().source(format), 1.5f});
      source.expands.push_back({stacked[i], std::ssize(source.shrinks) - 1, b.back().source("f32")});
    }
    std::vector<LowRankSource> sources;
    sources.push_back(std::move(source));
    packed = std::move(backend.make_low_ranks(std::move(sources), MatmulPrecision::kAuto).front());
  }
  // Adds scale * 1.5 B (A x) to out, whose weights have these rows.
  void add(const double* x, double scale, const std::vector<std::int64_t>& rows, double* out) const {
    for (std::size_t i = 0; i < stacked.size(); ++i) {
      const AdapterMatrix& first = a[one_a ? 0 : i];
      std::vector<double> ranks;
      for (std::int64_t r = 0; r < first.rows; ++r) ranks.push_back(1.5 * scale * first.product(r, x));
      std::int64_t column = 0;
      for (std::int64_t w = 0; w < stacked[i]; ++w) column += rows[static_cast<std::size_t>(w)];
      for (std::int64_t r = 0; r < b[i].rows; ++r) out[column + r] += b[i].product(r, ranks.data());
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
    const TestAdapter all(*backend, *weight, {0, 1, 2}, kStackedRows, 20, true, GetParam().adapter, 20);
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
      if (r < 5) q_and_v.add(of_row.data(), 1.0, kStackedRows, added.data());
      if (r == 5 || r == 6) all.add(of_row.data(), 0.5, kStackedRows, added.data());
      if (r > 6) q_and_v.add(of_row.data(), 2.0, kStackedRows, added.data());
      if (r > 6) all.add(of_row.data(), -1.0, kStackedRows, added.data());
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
        packed.push_back({{*backend, *weight, {0, 2}, kStackedRows, rank, false, GetParam().adapter, 50 + 10 * i},
                          {*backend, *up, {0, 1}, wide, rank, i == 1, GetParam().adapter, 150 + 10 * i},
                          {*backend, *down, {0}, narrow, rank, false, GetParam().adapter, 250 + 10 * i}});
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

std::string adapter_form_name(const testing::TestParamInfo<AdapterForm>& info) {
  return std::string(info.param.adapter) + "_on_" + info.param.base;
}
INSTANTIATE_TEST_SUITE_P(Adapters, LowRankTest, testing::ValuesIn(kAdapterForms), adapter_form_name);

}  // namespace
}  // namespace millrace::backend
