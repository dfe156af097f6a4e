// Operations on rows against float64, on odd sizes, with the bits of a row independent of its neighbours and threads.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "backend/testing/device_rows.h"
#include "backend/testing/test_backend.h"

namespace millrace::backend {
namespace {

using Row = std::vector<double>;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

Row row_of(const Values& values, std::int64_t row, std::int64_t columns) {
  const auto begin = values.begin() + row * columns;
  return {begin, begin + columns};
}

// Weight and bias on the device and on the host.
struct MadeNorm {
  NormKind kind;
  Values weight, bias;
  DeviceVector weight_there, bias_there;

  MadeNorm(Backend& backend, NormKind k, std::int64_t n)
      : kind(k), weight(random_values(n, 70)), bias(random_values(k == NormKind::kLayer ? n : 0, 71)) {
    weight_there = backend.make_vector(weight);
    bias_there = backend.make_vector(bias);
  }
  Norm view() const {
    return {.kind = kind, .eps = 1e-5f, .weight = weight_there.address(), .bias = bias_there.address()};
  }
  Row of(const Row& x) const {
    const auto n = static_cast<double>(x.size());
    double mean = 0.0, squares = 0.0;
    for (const double v : x) mean += kind == NormKind::kLayer ? v / n : 0.0;
    for (const double v : x) squares += (v - mean) * (v - mean) / n;
    Row out;
    for (std::size_t i = 0; i < x.size(); ++i) {
      out.push_back((x[i] - mean) / std::sqrt(squares + 1e-5) * weight[i] + (bias.empty() ? 0.0 : bias[i]));
    }
    return out;
  }
};

// Runs an operation that changes `out` [rows, to] from `x` [rows, from], on one thread and three, on all rows at once
// and on each alone; expects the same bits, and about what `exact` says of a row.
struct Trial {
  using Run = std::function<void(Backend&, DeviceView x, DeviceView out)>;
  using Exact = std::function<Row(std::int64_t row, const Row& x, const Row& out)>;
  std::int64_t from, to;
  double bound = 2e-6;

  void expect(const std::function<Run(Backend&)>& make, const Exact& exact) const {
    for (const std::int64_t rows : {1, 5, 61}) {
      const Values x = random_values(rows * from, 1), before = random_values(rows * to, 2);
      Values first;
      for (const int threads : {1, 3}) {
        const auto backend = make_test_backend(threads);
        const Run run = make(*backend);
        const DeviceBuffer in = matrix(*backend, x), together = matrix(*backend, before),
                           alone = matrix(*backend, before);
        run(*backend, in.view(rows, from), together.view(rows, to));
        const Values out = values_of(*backend, together.view(rows, to));
        for (std::int64_t t = 0; t < rows; ++t) {
          run(*backend, in.view(rows, from).row_range(t, 1), alone.view(rows, to).row_range(t, 1));
        }
        EXPECT_EQ(values_of(*backend, alone.view(rows, to)), out);
        if (first.empty()) first = out;
        EXPECT_EQ(out, first) << threads << " threads";
      }
      for (std::int64_t t = 0; t < rows; ++t) {
        const Row expected = exact(t, row_of(x, t, from), row_of(before, t, to)), out = row_of(first, t, to);
        for (std::size_t i = 0; i < out.size(); ++i) {
          ASSERT_NEAR(out[i], expected[i], bound * std::max(1.0, std::fabs(expected[i]))) << "row " << t << " at " << i;
        }
      }
    }
  }
};

TEST(RowOperations, NormTakesAllRowsInPlaceOrSomeInOrder) {
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    for (const std::int64_t n : {7, 100}) {
      const auto backend = make_test_backend(2);
      const MadeNorm norm(*backend, kind, n);
      const Values values = random_values(5 * n, 3);
      const DeviceBuffer x = matrix(*backend, values), out = matrix(*backend, Values(static_cast<std::size_t>(2 * n)));
      const std::vector<std::int64_t> chosen = {4, 1};
      backend->norm(norm.view(), chosen, x.view(5, n), out.view(2, n));
      const Values some = values_of(*backend, out.view(2, n));
      backend->norm(norm.view(), {}, x.view(5, n), x.view(5, n));
      const Values all = values_of(*backend, x.view(5, n));
      for (std::int64_t t = 0; t < 5; ++t) {
        const Row expected = norm.of(row_of(values, t, n)), row = row_of(all, t, n);
        for (std::size_t i = 0; i < row.size(); ++i) ASSERT_NEAR(row[i], expected[i], 1e-5);
      }
      EXPECT_EQ(row_of(some, 0, n), row_of(all, 4, n));
      EXPECT_EQ(row_of(some, 1, n), row_of(all, 1, n));
    }
  }
}

TEST(RowOperations, AddTakesANormAndAFactor) {
  for (const float scale : {1.0f, -0.22f}) {
    Trial{.from = 37, .to = 37}.expect(
        [&](Backend&) -> Trial::Run {
          return [=](Backend& b, DeviceView x, DeviceView out) { b.add({.scale = scale}, x, out); };
        },
        [&](std::int64_t, const Row& x, Row out) {
          for (std::size_t i = 0; i < out.size(); ++i) out[i] += scale * x[i];
          return out;
        });
    for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
      const auto host = make_test_backend(1);
      const MadeNorm same(*host, kind, 37);  // the numbers of those on the devices
      Trial{.from = 37, .to = 37, .bound = 1e-5}.expect(
          [&](Backend& backend) -> Trial::Run {
            const auto norm = std::make_shared<MadeNorm>(backend, kind, 37);
            return [=](Backend& b, DeviceView x, DeviceView out) {
              b.add({.norm = norm->view(), .scale = scale}, x, out);
              b.synchronize();
            };
          },
          [&](std::int64_t, const Row& x, Row out) {
            const Row normed = same.of(x);
            for (std::size_t i = 0; i < out.size(); ++i) out[i] += scale * normed[i];
            return out;
          });
    }
  }
}

TEST(RowOperations, ScaleMultipliesAndCaps) {
  for (const auto& [factor, cap] : {std::pair{12.5f, 0.0f}, {1.0f, 2.0f}, {40.0f, 30.0f}}) {
    Trial{.from = 45, .to = 45, .bound = 3e-6}.expect(
        [=](Backend&) -> Trial::Run {
          return [=](Backend& b, DeviceView, DeviceView out) { b.scale({.factor = factor, .softcap = cap}, out); };
        },
        [=](std::int64_t, const Row&, Row out) {
          for (double& v : out) v = cap > 0.0f ? cap * std::tanh(factor * v / cap) : factor * v;
          return out;
        });
  }
}

TEST(RowOperations, ScaleTakesRowsAsLongAsAVocabulary) {
  const Values values = random_values(3 * 9001, 4);
  const auto backend = make_test_backend(3);
  const DeviceBuffer x = matrix(*backend, values);
  backend->scale({.factor = 2.0f}, x.view(3, 9001).columns(0, 9000));
  const Values out = values_of(*backend, x.view(3, 9001));
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i % 9001 == 9000 ? values[i] : 2.0f * values[i]);
}

TEST(RowOperations, ScaleCapsTheLargestKeepsNanAndSmallNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const Values values = {kInfinity, -kInfinity, kNan, 3e38f, -3e38f, 1e-30f, -1e-30f, 0.0f, 1e-4f, -0.25f, 20.0f};
  const auto backend = make_test_backend(1);
  const DeviceBuffer x = matrix(*backend, values);
  const DeviceView row = x.view(1, std::ssize(values));
  backend->scale({.softcap = 30.0f}, row);
  const Values out = values_of(*backend, row);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double exact = 30.0 * std::tanh(values[i] / 30.0);
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(out[i]));
    } else {
      EXPECT_NEAR(out[i], exact, 1e-6 * std::fabs(exact)) << values[i];
    }
  }
}

TEST(RowOperations, GatesChannelsAndHeads) {
  for (const GateFunction f : {GateFunction::kSigmoid, GateFunction::kSoftplus}) {
    for (const std::int64_t width : {1, 5, 16, 20}) {
      const std::int64_t gates = width == 1 ? 53 : 3;
      Trial{.from = gates, .to = gates * width}.expect(
          [=](Backend&) -> Trial::Run { return [=](Backend& b, DeviceView x, DeviceView out) { b.gate(f, x, out); }; },
          [=](std::int64_t, const Row& x, Row out) {
            for (std::size_t i = 0; i < out.size(); ++i) {
              const double gate = x[i / static_cast<std::size_t>(width)];
              out[i] *= f == GateFunction::kSigmoid ? sigmoid(gate) : std::log1p(std::exp(gate));
            }
            return out;
          });
    }
  }
}

TEST(RowOperations, ActivatesWithAndWithoutAGate) {
  for (const bool gated : {false, true}) {
    const std::int64_t n = 35;
    Trial{.from = gated ? 2 * n : n, .to = n}.expect(
        [=](Backend&) -> Trial::Run {
          return [=](Backend& b, DeviceView x, DeviceView out) {
            b.activate({.activation = Activation::kReluSquared, .gated = gated}, x, out);
          };
        },
        [=](std::int64_t, const Row& x, Row out) {
          for (std::size_t i = 0; i < out.size(); ++i) {
            const double positive = std::max(x[i], 0.0);
            out[i] = positive * positive * (gated ? x[i + static_cast<std::size_t>(n)] : 1.0);
          }
          return out;
        });
    const auto backend = make_test_backend(1);
    const DeviceBuffer x = matrix(*backend, random_values(4 * 2 * n, 5)), out = matrix(*backend, Values(4 * 35));
    const DeviceView in = x.view(4, 2 * n).columns(0, gated ? 2 * n : n);
    backend->activate({.activation = Activation::kSilu, .gated = gated}, in, out.view(4, n));
    backend->activate({.activation = Activation::kSilu, .gated = gated}, in, in.columns(0, n));
    EXPECT_EQ(values_of(*backend, in.columns(0, n)), values_of(*backend, out.view(4, n)));
  }
}

TEST(RowOperations, PositionScaleGrowsWithThePosition) {
  const std::vector<std::int32_t> positions = {0, 8190, 8191, 8192, 16383, 1000000};
  for (const double offset : {0.0, 1.0}) {
    const auto backend = make_test_backend(2);
    const DeviceBuffer out = matrix(*backend, Values(positions.size()));
    const DeviceView column = out.view(std::ssize(positions), 1);
    backend->position_scale(positions, {.factor = 0.1, .period = 8192.0, .offset = offset}, column);
    const Values factors = values_of(*backend, column);
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const std::int64_t periods = (positions[i] + static_cast<std::int64_t>(offset)) / 8192;
      EXPECT_EQ(factors[i], static_cast<float>(1.0 + 0.1 * std::log(1.0 + static_cast<double>(periods))));
    }
  }
}

struct MlpForm {
  bool gated, accumulate, bias;
  Activation activation;
  friend void PrintTo(const MlpForm& f, std::ostream* out) {
    *out << "gated " << f.gated << " accumulate " << f.accumulate << " activation " << static_cast<int>(f.activation);
  }
};

TEST(RowOperations, MlpAddsOrWrites) {
  constexpr std::int64_t kIn = 24, kWidth = 70, kOut = 18;
  constexpr ActivationParameters kParameters{.alpha_p = 0.8f, .alpha_n = 1.3f, .beta = 0.5f, .eps = -1e-6f};
  const auto host = make_test_backend(1);
  const MadeNorm same(*host, NormKind::kRms, kIn);
  for (const MlpForm& form : {MlpForm{true, true, false, Activation::kSilu},
                              {true, false, true, Activation::kQuickGelu},
                              {false, false, true, Activation::kXielu},
                              {false, true, true, Activation::kReluSquared}}) {
    SCOPED_TRACE(testing::PrintToString(form));
    const std::int64_t ups = form.gated ? 2 * kWidth : kWidth;
    const Values up = random_values(ups * kIn, 11), down = random_values(kOut * kWidth, 12);
    const Values up_bias = random_values(ups, 13), down_bias = random_values(kOut, 14);
    struct Weights {
      MadeNorm norm;
      std::unique_ptr<Linear> up, down;
      DeviceVector up_bias, down_bias;
    };
    const auto product = [](const Values& w, const Row& x, const Values& bias, bool with_bias) {
      Row out;
      for (std::size_t i = 0; i * x.size() < w.size(); ++i) {
        double sum = with_bias ? bias[i] : 0.0;
        for (std::size_t j = 0; j < x.size(); ++j) sum += w[i * x.size() + j] * x[j];
        out.push_back(sum);
      }
      return out;
    };
    const auto activated = [&](double x) {
      switch (form.activation) {
        case Activation::kQuickGelu: return x * sigmoid(1.702 * x);
        case Activation::kReluSquared: return x > 0.0 ? x * x : 0.0;
        case Activation::kXielu: return (x > 0.0 ? 0.8 * x * x : 1.3 * (std::expm1(std::min(x, -1e-6)) - x)) + 0.5 * x;
        default: return x * sigmoid(x);
      }
    };
    Trial{.from = kIn, .to = kOut, .bound = 1e-4}.expect(
        [&](Backend& backend) -> Trial::Run {
          std::vector<WeightSource> ups_of = {source_of(up, kIn, 0, kWidth)};
          if (form.gated) ups_of.push_back(source_of(up, kIn, kWidth, kWidth));
          const auto w = std::make_shared<Weights>(Weights{
              MadeNorm(backend, NormKind::kRms, kIn), backend.make_linear(std::move(ups_of), MatmulPrecision::kF32),
              weight_of(backend, down, kWidth, 0, kOut), backend.make_vector(up_bias), backend.make_vector(down_bias)});
          return [=](Backend& b, DeviceView x, DeviceView out) {
            b.mlp({.norm = w->norm.view(),
                   .up = w->up.get(),
                   .up_bias = form.bias ? w->up_bias.address() : DeviceAddress(),
                   .gated = form.gated,
                   .activation = form.activation,
                   .parameters = kParameters,
                   .down = w->down.get(),
                   .down_bias = form.bias ? w->down_bias.address() : DeviceAddress(),
                   .accumulate = form.accumulate},
                  x, out);
            b.synchronize();
          };
        },
        [&](std::int64_t, const Row& x, const Row& before) {
          Row hidden = product(up, same.of(x), up_bias, form.bias);
          for (std::size_t i = 0; i < static_cast<std::size_t>(kWidth); ++i) {
            hidden[i] = activated(hidden[i]) * (form.gated ? hidden[i + static_cast<std::size_t>(kWidth)] : 1.0);
          }
          hidden.resize(static_cast<std::size_t>(kWidth));
          Row out = product(down, hidden, down_bias, form.bias);
          for (std::size_t i = 0; i < out.size(); ++i) out[i] += form.accumulate ? before[i] : 0.0;
          return out;
        });
  }
}

}  // namespace
}  // namespace millrace::backend
