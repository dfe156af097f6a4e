// Adapters inside mixtures of experts: against float64, that rows without them keep their bits, and that a row's bits
// depend on nothing but the row and its adapters.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "backend/cpu/testing/attention_fixture.h"
#include "backend/cpu/testing/reference.h"
#include "backend/low_rank.h"
#include "backend/testing/device_rows.h"
#include "backend/testing/test_backend.h"

namespace millrace::backend {
namespace {

struct AdaptedMixtureForm {
  const char* name;
  const char* base = "f32";
  const char* adapter = "f32";  // of A
  double error = 2e-5;          // of what adapters add, beside its size
  bool gated = true, biases = false, scale_inputs = false;
  std::int64_t in = 576, width = 544, out = 80;  // two parts of A's columns each
};
const std::vector<AdaptedMixtureForm> kAdaptedMixtures = {
    {.name = "plain"},
    {.name = "odd", .biases = true, .in = 26, .width = 22, .out = 42},
    {.name = "inputs", .scale_inputs = true, .in = 64, .width = 48, .out = 32},
    {.name = "ungated", .gated = false, .biases = true, .in = 64, .width = 48, .out = 32},
    {.name = "bf16", .base = "bf16", .adapter = "bf16", .error = 3e-2, .in = 64, .width = 48, .out = 32},
    {.name = "q4_0", .base = "q4_0", .adapter = "bf16", .error = 3e-2},
    {.name = "q8_0_int8", .base = "q8_0", .adapter = "q8_0", .error = 6e-2, .in = 96, .width = 64, .out = 48},
    {.name = "q4_k", .base = "q4_k", .adapter = "bf16", .error = 6e-2, .in = 256, .width = 512, .out = 48},
};
constexpr std::int64_t kAdaptedExperts = 5, kAdaptedChoices = 2, kAdaptedRows = 120;

// The matrices of all experts, and their own values.
struct ExpertStack {
  std::int64_t rows, cols;
  Values values;

  ExpertStack(std::int64_t n, std::int64_t k, unsigned seed)
      : rows(n), cols(k), values(random_values(kAdaptedExperts * n * k, seed)) {
    for (float& v : values) v /= std::sqrt(static_cast<float>(k));
  }
  WeightSource source(const char* name) const { return packed_source(name, rows, cols, values, kAdaptedExperts); }
  // As the format rounds them.
  void round(const char* name) {
    const quant::QuantFormat* format = quant::find_format(name);
    std::vector<std::byte> packed(format->row_bytes(cols));
    for (std::size_t at = 0; at < values.size(); at += static_cast<std::size_t>(cols)) {
      const auto row = std::span(values).subspan(at, static_cast<std::size_t>(cols));
      format->pack(row, packed.data());
      format->unpack(packed.data(), row);
    }
  }
  std::vector<double> product(std::int64_t expert, const std::vector<double>& x) const {
    std::vector<double> sums;
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* w = values.data() + (expert * rows + r) * cols;
      double sum = 0.0;
      for (std::int64_t i = 0; i < cols; ++i) sum += static_cast<double>(w[i]) * x[static_cast<std::size_t>(i)];
      sums.push_back(sum);
    }
    return sums;
  }
};

// Of one product: A for all stacked weights, or one each; scales by expert.
struct ExpertAdapter {
  std::vector<ExpertStack> a, b;
  Values scales = random_values(kAdaptedExperts, 9);
  std::unique_ptr<LowRank> packed;

  ExpertAdapter(Backend& backend, const Linear& base, const std::vector<std::int64_t>& rows, std::int64_t rank,
                bool shared, const char* format, unsigned seed) {
    LowRankSource source{.base = &base};
    a.reserve(rows.size());
    b.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i == 0 || !shared) {
        a.emplace_back(rank, base.k(), seed++);
        WeightSource read = a.back().source(format);
        read.factors = scales;
        source.shrinks.push_back({std::move(read), 1.0f});
      }
      b.emplace_back(rows[i], rank, seed++);
      source.expands.push_back({static_cast<std::int64_t>(i), std::ssize(source.shrinks) - 1, b.back().source("f32")});
    }
    std::vector<LowRankSource> sources;
    sources.push_back(std::move(source));
    packed = std::move(backend.make_low_ranks(std::move(sources), MatmulPrecision::kAuto).front());
  }
  void add(std::int64_t expert, std::size_t weight, double scale, const std::vector<double>& x,
           std::vector<double>& to) const {
    std::vector<double> ranks = a[std::min(weight, a.size() - 1)].product(expert, x);
    for (double& value : ranks) value *= scale * scales[static_cast<std::size_t>(expert)];
    const std::vector<double> added = b[weight].product(expert, ranks);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += added[i];
  }
};

struct AdaptedMixture {
  AdaptedMixtureForm form;
  std::unique_ptr<Backend> backend;
  ExpertStack gate, up, down;
  Values up_bias, down_bias;
  std::unique_ptr<Linear> up_weight, down_weight;
  std::vector<ExpertAdapter> of_up, of_down;  // three
  DeviceVector up_biases, down_biases;

  AdaptedMixture(const AdaptedMixtureForm& f, int threads, const std::string& isa)
      : form(f),
        backend(make_test_backend(threads, isa)),
        gate(f.width, f.in, 1),
        up(f.width, f.in, 2),
        down(f.out, f.width, 3),
        up_bias(random_values(kAdaptedExperts * f.width * (f.gated ? 2 : 1), 4)),
        down_bias(random_values(kAdaptedExperts * f.out, 5)) {
    std::vector<WeightSource> ups;
    if (f.gated) ups.push_back(gate.source(f.base));
    ups.push_back(up.source(f.base));
    up_weight = backend->make_linear(std::move(ups), MatmulPrecision::kAuto);
    down_weight = backend->make_linear({down.source(f.base)}, MatmulPrecision::kAuto);
    for (unsigned i = 0; i < 3; ++i) {
      const std::int64_t rank = 4 + 14 * static_cast<std::int64_t>(i);
      const std::vector<std::int64_t> rows(f.gated ? 2 : 1, f.width);
      of_up.emplace_back(*backend, *up_weight, rows, rank, i == 1, f.adapter, 50 + 20 * i);
      of_down.emplace_back(*backend, *down_weight, std::vector{f.out}, rank, false, f.adapter, 150 + 20 * i);
    }
    for (ExpertStack* stack : {&gate, &up, &down}) stack->round(f.base);
    up_biases = backend->make_vector(up_bias);
    down_biases = backend->make_vector(down_bias);
  }

  struct Choice {
    std::int32_t expert;
    float weight;
  };
  static std::vector<Choice> choices_of(std::int64_t row) {
    const auto first = static_cast<std::int32_t>(row * 7 % kAdaptedExperts);
    const auto second = static_cast<std::int32_t>((first + 1 + row % (kAdaptedExperts - 1)) % kAdaptedExperts);
    return {{first, 0.3f + static_cast<float>(row % 10) / 10.0f}, {second, 0.6f}};
  }
  // Seven rows after the other have the same: none, one of three, or two.
  struct Used {
    std::int64_t adapter;
    float scale;
  };
  static std::vector<Used> used_by(std::int64_t row) {
    const std::int64_t group = row / 7;
    std::vector<Used> used;
    if (group % 5 != 0) used.push_back({group % 3, 1.0f});
    if (group % 5 == 4) used.push_back({(group + 1) % 3, 0.25f});
    return used;
  }
  std::vector<AdapterRows> rows_of(std::int64_t first, std::int64_t rows, const std::vector<ExpertAdapter>& of) const {
    std::vector<AdapterRows> list;
    for (std::int64_t row = first; row < first + rows;) {
      const std::int64_t n = std::min(first + rows, 7 * (row / 7 + 1)) - row;
      for (const Used& used : used_by(row)) {
        list.push_back({row - first, n, of[static_cast<std::size_t>(used.adapter)].packed.get(), used.scale});
      }
      row += n;
    }
    return list;
  }
  // The operation on these rows of x.
  Values run(const Values& x, std::int64_t first, std::int64_t rows, bool adapted, bool accumulate = false) const {
    Values routes;
    for (std::int64_t t = first; t < first + rows; ++t) {
      for (const Choice& choice : choices_of(t)) routes.push_back(std::bit_cast<float>(choice.expert));
      for (const Choice& choice : choices_of(t)) routes.push_back(choice.weight);
    }
    const DeviceBuffer input =
        matrix(*backend, Values(x.begin() + first * form.in, x.begin() + (first + rows) * form.in));
    const DeviceBuffer chosen = matrix(*backend, routes), to = matrix(*backend, Values(rows * form.out, 0.5f));
    const auto up_rows = rows_of(first, rows, of_up), down_rows = rows_of(first, rows, of_down);
    Experts experts{.up = up_weight.get(),
                    .up_bias = form.biases ? up_biases.address() : DeviceAddress(),
                    .gated = form.gated,
                    .activation = form.gated ? Activation::kSilu : Activation::kReluSquared,
                    .down = down_weight.get(),
                    .down_bias = form.biases ? down_biases.address() : DeviceAddress(),
                    .scale_inputs = form.scale_inputs,
                    .accumulate = accumulate};
    if (adapted) {
      experts.up_adapters = up_rows;
      experts.down_adapters = down_rows;
    }
    backend->experts(experts, input.view(rows, form.in), chosen.view(rows, 2 * kAdaptedChoices),
                     to.view(rows, form.out));
    return values_of(*backend, to.view(rows, form.out));
  }
  // One row in float64, with its adapters or without.
  std::vector<double> exact(const Values& x, std::int64_t row, bool adapted) const {
    std::vector<double> out(static_cast<std::size_t>(form.out));
    for (const Choice& choice : choices_of(row)) {
      const std::int64_t e = choice.expert;
      std::vector<double> in(x.begin() + row * form.in, x.begin() + (row + 1) * form.in);
      for (double& v : in) v *= form.scale_inputs ? choice.weight : 1.0;
      std::vector<double> g = gate.product(e, in), u = up.product(e, in);
      const float* bias = up_bias.data() + e * up_weight->n();
      for (std::size_t i = 0; form.biases && i < u.size(); ++i) {
        g[i] += bias[i];
        u[i] += bias[i + (form.gated ? u.size() : 0)];
      }
      for (const Used& used : adapted ? used_by(row) : std::vector<Used>()) {
        const ExpertAdapter& adapter = of_up[static_cast<std::size_t>(used.adapter)];
        if (form.gated) adapter.add(e, 0, used.scale, in, g);
        adapter.add(e, form.gated ? 1 : 0, used.scale, in, u);
      }
      for (std::size_t i = 0; i < u.size(); ++i) {
        u[i] = form.gated ? g[i] / (1.0 + std::exp(-g[i])) * u[i] : std::max(u[i], 0.0) * std::max(u[i], 0.0);
      }
      std::vector<double> y = down.product(e, u);
      for (std::size_t i = 0; form.biases && i < y.size(); ++i)
        y[i] += down_bias[static_cast<std::size_t>(e * form.out) + i];
      for (const Used& used : adapted ? used_by(row) : std::vector<Used>()) {
        of_down[static_cast<std::size_t>(used.adapter)].add(e, 0, used.scale, u, y);
      }
      for (std::size_t i = 0; i < y.size(); ++i) out[i] += (form.scale_inputs ? 1.0 : choice.weight) * y[i];
    }
    return out;
  }
};

class ExpertAdaptersTest : public testing::TestWithParam<AdaptedMixtureForm> {
 protected:
  Values x_ = random_values(kAdaptedRows * GetParam().in, 6);
};

// What adapters add, with few rows, whose columns workers share, and with blocks of rows.
TEST_P(ExpertAdaptersTest, AddWhatFloat64Does) {
  const AdaptedMixtureForm& form = GetParam();
  std::vector<std::vector<double>> added;  // [row][out], the same for all instruction sets
  for (const Isa isa : cpu::supported_isas()) {
    const AdaptedMixture mixture(form, 2, std::string(to_string(isa)));
    for (std::int64_t t = std::ssize(added); t < kAdaptedRows; ++t) {
      const auto plain = mixture.exact(x_, t, false);
      added.push_back(mixture.exact(x_, t, true));
      std::ranges::transform(added.back(), plain, added.back().begin(), std::minus());
    }
    for (const std::int64_t rows : {std::int64_t{14}, kAdaptedRows}) {
      const Values with = mixture.run(x_, 0, rows, true), without = mixture.run(x_, 0, rows, false);
      double size = 0.0, errors = 0.0;
      for (std::int64_t t = 0; t < rows; ++t) {
        const std::vector<double>& expected = added[static_cast<std::size_t>(t)];
        const auto row = [&](const Values& all) {
          return std::span(all).subspan(static_cast<std::size_t>(t * form.out), expected.size());
        };
        if (AdaptedMixture::used_by(t).empty()) {
          EXPECT_TRUE(cpu::same_bits(row(with), row(without))) << "row " << t << " has no adapter";
          continue;
        }
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const double found = static_cast<double>(row(with)[i]) - row(without)[i];
          size += expected[i] * expected[i];
          errors += (found - expected[i]) * (found - expected[i]);
        }
      }
      EXPECT_GT(size, 0.0);
      EXPECT_LT(std::sqrt(errors / size), form.error) << to_string(isa) << ", " << rows << " rows";
    }
  }
}

TEST_P(ExpertAdaptersTest, NoRowDependsOnOthersOrOnThreads) {
  for (const Isa isa : cpu::supported_isas()) {
    Values alone;
    for (const int threads : {1, 3}) {
      const AdaptedMixture mixture(GetParam(), threads, std::string(to_string(isa)));
      if (alone.empty()) {
        for (std::int64_t t = 0; t < kAdaptedRows; ++t) {
          const Values row = mixture.run(x_, t, 1, true, true);
          alone.insert(alone.end(), row.begin(), row.end());
        }
      }
      for (const std::int64_t rows :
           {std::int64_t{1}, std::int64_t{2}, std::int64_t{13}, std::int64_t{50}, kAdaptedRows}) {
        const Values together = mixture.run(x_, 0, rows, true, true);
        const auto n = static_cast<std::size_t>(rows * GetParam().out);
        EXPECT_TRUE(cpu::same_bits(std::span<const float>(alone).first(n), together))
            << to_string(isa) << ", " << rows << " rows, " << threads << " threads";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, ExpertAdaptersTest, testing::ValuesIn(kAdaptedMixtures),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace millrace::backend
