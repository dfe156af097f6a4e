// Mixtures of experts against float64, and that a row's bits depend on nothing but the row: not on the rows beside it,
// on threads, or on who shares its experts.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/testing/attention_fixture.h"
#include "backend/testing/device_rows.h"
#include "backend/testing/test_backend.h"

namespace millrace::backend {
namespace {

constexpr std::int64_t kExperts = 5, kChosen = 2;

struct MixtureForm {
  const char* name;
  const char* format = "f32";
  std::int64_t in = 64, width = 48, out = 64;
  bool gated = true, biases = false, scale_inputs = false, accumulate = false, factors = false;
  Activation activation = Activation::kSilu;
};
const std::vector<MixtureForm> kMixtures = {
    {.name = "plain"},
    {.name = "odd", .in = 26, .width = 22, .out = 42, .biases = true, .accumulate = true},
    {.name = "inputs", .scale_inputs = true},
    {.name = "ungated", .gated = false, .biases = true, .activation = Activation::kReluSquared},
    {.name = "clamped", .biases = true, .activation = Activation::kClampedSwiglu},
    {.name = "q4_0", .format = "q4_0", .in = 64, .width = 96, .out = 80, .accumulate = true},
    {.name = "q8_0", .format = "q8_0", .in = 96, .width = 32, .out = 48, .biases = true},
    {.name = "mxfp4", .format = "mxfp4", .in = 64, .width = 96, .out = 48},
    {.name = "nvfp4", .format = "nvfp4", .in = 64, .width = 64, .out = 48, .biases = true, .factors = true},
    {.name = "factors", .format = "q8_0", .in = 64, .width = 32, .out = 48, .accumulate = true, .factors = true},
    {.name = "bf16", .format = "bf16", .in = 64, .width = 48, .out = 48},
    {.name = "int8_row", .format = "int8_row", .in = 64, .width = 96, .out = 48, .accumulate = true},
    {.name = "q4_k", .format = "q4_k", .in = 256, .width = 512, .out = 48},
};
constexpr ActivationParameters kClamp{.alpha = 1.702f, .limit = 1.0f, .shift = 1.0f};

// The matrices of all experts [experts * rows, cols] as the format has them, and their values.
struct Stack {
  const quant::QuantFormat* format;
  std::int64_t rows, cols;
  std::vector<std::byte> bytes;
  Values values;   // without the factors
  Values factors;  // of the experts; empty = 1

  Stack(const char* name, std::int64_t rows_of_one, std::int64_t columns, unsigned seed, bool with_factors)
      : format(quant::find_format(name)), rows(rows_of_one), cols(columns) {
    if (with_factors) factors = random_values(kExperts, seed + 100);
    const Values drawn = random_values(kExperts * rows * cols, seed);
    const std::size_t row_bytes = format->row_bytes(cols);
    bytes.resize(static_cast<std::size_t>(kExperts * rows) * row_bytes);
    values.resize(drawn.size());
    for (std::int64_t r = 0; r < kExperts * rows; ++r) {
      const auto at = static_cast<std::size_t>(r * cols), n = static_cast<std::size_t>(cols);
      std::byte* packed = bytes.data() + static_cast<std::size_t>(r) * row_bytes;
      if (format->pack != nullptr) {
        format->pack(std::span(drawn).subspan(at, n), packed);
      } else {  // of nvfp4: scales from 1/4 to 1/2
        std::memcpy(packed, drawn.data() + at, row_bytes);
        for (std::size_t b = 0; b < row_bytes; b += 36) std::memset(packed + b, 0x28 + static_cast<int>(r % 8), 4);
      }
      format->unpack(packed, std::span(values).subspan(at, n));
    }
  }
  WeightSource source() const {
    WeightSource source{.name = "w", .format = format, .rows = rows, .cols = cols, .read = {}, .experts = kExperts};
    source.factors = factors;
    source.read = [this](std::int64_t first, std::int64_t, std::span<std::byte> out) {
      std::copy_n(bytes.begin() + first * static_cast<std::int64_t>(format->row_bytes(cols)), out.size(), out.begin());
    };
    return source;
  }
  double product(std::int64_t expert, std::int64_t row, const double* x) const {
    double sum = 0.0;
    const float* w = values.data() + (expert * rows + row) * cols;
    for (std::int64_t j = 0; j < cols; ++j) sum += static_cast<double>(w[j]) * x[j];
    return factors.empty() ? sum : sum * factors[static_cast<std::size_t>(expert)];
  }
};

struct Mixture {
  MixtureForm form;
  Stack gate, up, down;
  Values up_bias, down_bias;
  explicit Mixture(const MixtureForm& f)
      : form(f),
        gate(f.format, f.width, f.in, 1, f.factors),
        up(f.format, f.width, f.in, 2, f.factors),
        down(f.format, f.out, f.width, 3, f.factors),
        up_bias(random_values(kExperts * f.width * (f.gated ? 2 : 1), 4)),
        down_bias(random_values(kExperts * f.out, 5)) {}
};

double exact_activation(const MixtureForm& form, double gate, double up) {
  const auto sigmoid = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  if (form.activation == Activation::kClampedSwiglu) {
    const double g = std::min<double>(gate, kClamp.limit);
    return g * sigmoid(kClamp.alpha * g) * (std::clamp<double>(up, -kClamp.limit, kClamp.limit) + kClamp.shift);
  }
  return form.gated ? gate * sigmoid(gate) * up : std::max(up, 0.0) * std::max(up, 0.0);
}

// What the experts of one row add to it.
std::vector<double> exact_mixture(const Mixture& m, const float* x, const std::vector<Choice>& choices) {
  const MixtureForm& form = m.form;
  std::vector<double> out(static_cast<std::size_t>(form.out), 0.0);
  for (const Choice& choice : choices) {
    const std::int64_t e = choice.expert, stride = form.width * (form.gated ? 2 : 1);
    std::vector<double> in(x, x + form.in), hidden;
    for (double& v : in) v *= form.scale_inputs ? choice.weight : 1.0;
    for (std::int64_t i = 0; i < form.width; ++i) {
      const float* bias = m.up_bias.data() + e * stride;
      const double gate = form.gated ? m.gate.product(e, i, in.data()) + (form.biases ? bias[i] : 0.0) : 0.0;
      const double up = m.up.product(e, i, in.data()) + (form.biases ? bias[stride - form.width + i] : 0.0);
      hidden.push_back(exact_activation(form, gate, up));
    }
    for (std::int64_t i = 0; i < form.out; ++i) {
      const double y = m.down.product(e, i, hidden.data()) +
                       (form.biases ? m.down_bias[static_cast<std::size_t>(e * form.out + i)] : 0.0);
      out[static_cast<std::size_t>(i)] += (form.scale_inputs ? 1.0 : choice.weight) * y;
    }
  }
  return out;
}

std::vector<Choice> choices_of(std::int64_t row) {
  std::mt19937 random(static_cast<unsigned>(row) + 77);
  const auto first = static_cast<std::int32_t>(random() % kExperts);
  const auto second = static_cast<std::int32_t>((first + 1 + static_cast<int>(random() % (kExperts - 1))) % kExperts);
  return {{first, 0.3f + static_cast<float>(random() % 100) / 100.0f}, {second, 0.6f}};
}

Values routes_of(std::int64_t rows) {
  Values routes;
  for (std::int64_t t = 0; t < rows; ++t) {
    const auto choices = choices_of(t);
    for (const Choice& choice : choices) routes.push_back(std::bit_cast<float>(choice.expert));
    for (const Choice& choice : choices) routes.push_back(choice.weight);
  }
  return routes;
}

Values rows_of(const Values& all, std::int64_t first, std::int64_t n) {
  return {all.begin() + first, all.begin() + first + n};
}

// The outputs of all rows, `at_once` rows a step.
Values computed(const Mixture& m, const Values& x, const Values& routes, const Values& residual, std::int64_t at_once,
                int threads, const std::string& isa, std::vector<std::uint32_t>* census = nullptr) {
  const MixtureForm& form = m.form;
  const auto backend = make_test_backend(threads, isa);
  std::vector<WeightSource> ups;
  if (form.gated) ups.push_back(m.gate.source());
  ups.push_back(m.up.source());
  const auto up = backend->make_linear(std::move(ups), MatmulPrecision::kAuto);
  const auto down = backend->make_linear({m.down.source()}, MatmulPrecision::kAuto);
  const DeviceVector up_bias = backend->make_vector(m.up_bias), down_bias = backend->make_vector(m.down_bias);
  const DeviceBuffer counts = backend->allocate(kExperts * sizeof(std::uint32_t)).or_throw();
  Values out;
  for (std::int64_t first = 0; first < std::ssize(x) / form.in; first += at_once) {
    const std::int64_t rows = std::min(at_once, std::ssize(x) / form.in - first);
    const DeviceBuffer in = matrix(*backend, rows_of(x, first * form.in, rows * form.in)),
                       chosen = matrix(*backend, rows_of(routes, first * 2 * kChosen, rows * 2 * kChosen)),
                       to = matrix(*backend, rows_of(residual, first * form.out, rows * form.out));
    backend->experts({.up = up.get(),
                      .up_bias = form.biases ? up_bias.address() : DeviceAddress(),
                      .gated = form.gated,
                      .activation = form.activation,
                      .parameters = kClamp,
                      .down = down.get(),
                      .down_bias = form.biases ? down_bias.address() : DeviceAddress(),
                      .scale_inputs = form.scale_inputs,
                      .accumulate = form.accumulate,
                      .census = counts.address()},
                     in.view(rows, form.in), chosen.view(rows, 2 * kChosen), to.view(rows, form.out));
    const Values step = values_of(*backend, to.view(rows, form.out));
    out.insert(out.end(), step.begin(), step.end());
  }
  if (census == nullptr) return out;
  census->resize(kExperts);
  backend->download(counts.address(), std::as_writable_bytes(std::span(*census)));
  return out;
}

class ExpertsTest : public testing::TestWithParam<MixtureForm> {
 protected:
  static constexpr std::int64_t kRows = 90;  // blocks of 16 to 64, and single rows
  Mixture mixture_{GetParam()};
  Values x_ = random_values(kRows * GetParam().in, 6), residual_ = random_values(kRows * GetParam().out, 7);
  Values routes_ = routes_of(kRows);
};

TEST_P(ExpertsTest, ComputeWhatFloat64Does) {
  const MixtureForm& form = GetParam();
  const quant::QuantFormat& format = *quant::find_format(form.format);
  const bool exact = format.affine.decompose == nullptr && !format.row_scaled;
  for (const Isa isa : cpu::supported_isas()) {
    const Values found = computed(mixture_, x_, routes_, residual_, kRows, 2, std::string(to_string(isa)));
    double squares = 0.0, errors = 0.0;
    for (std::int64_t t = 0; t < kRows; ++t) {
      const auto expected = exact_mixture(mixture_, x_.data() + t * form.in, choices_of(t));
      for (std::int64_t i = 0; i < form.out; ++i) {
        const auto at = static_cast<std::size_t>(t * form.out + i);
        const double value = expected[static_cast<std::size_t>(i)] + (form.accumulate ? residual_[at] : 0.0);
        squares += value * value;
        errors += (found[at] - value) * (found[at] - value);
      }
    }
    const bool rounded = std::string_view(form.format) == "bf16";
    EXPECT_LT(std::sqrt(errors / squares), rounded ? 2e-2 : exact ? 2e-6 : 2e-2) << to_string(isa);
  }
}

TEST_P(ExpertsTest, ARowsBitsDependOnNothingElse) {
  for (const Isa isa : cpu::supported_isas()) {
    const std::string name(to_string(isa));
    const Values together = computed(mixture_, x_, routes_, residual_, kRows, 1, name);
    for (const auto& [at_once, threads] : {std::pair(1, 1), std::pair(1, 3), std::pair(2, 2), std::pair(7, 2),
                                           std::pair(19, 3), std::pair(40, 1), std::pair(90, 3), std::pair(90, 16)}) {
      const Values found = computed(mixture_, x_, routes_, residual_, at_once, threads, name);
      EXPECT_EQ(std::memcmp(found.data(), together.data(), found.size() * sizeof(float)), 0)
          << name << ", " << at_once << " rows, " << threads << " threads";
    }
  }
}

TEST_P(ExpertsTest, ARowThatIsNoNumberStaysAlone) {
  const MixtureForm& form = GetParam();
  const Values good = computed(mixture_, x_, routes_, residual_, kRows, 2, "");
  Values routes = routes_;
  routes[2 * kChosen * 3 + kChosen] = routes[2 * kChosen * 3 + kChosen + 1] = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t at_once : {5, 90}) {
    const Values found = computed(mixture_, x_, routes, residual_, at_once, 2, "");
    for (std::int64_t t = 0; t < kRows; ++t) {
      const auto at = t * form.out;
      const bool same = std::memcmp(found.data() + at, good.data() + at, static_cast<std::size_t>(form.out) * 4) == 0;
      EXPECT_EQ(same, t != 3) << t;
    }
    EXPECT_TRUE(std::isnan(found[static_cast<std::size_t>(3 * form.out)]));
  }
}

TEST_P(ExpertsTest, TheCensusCountsRows) {
  std::vector<std::uint32_t> census, expected(kExperts, 0);
  computed(mixture_, x_, routes_, residual_, kRows, 2, "", &census);
  for (std::int64_t t = 0; t < kRows; ++t) {
    for (const Choice& choice : choices_of(t)) ++expected[static_cast<std::size_t>(choice.expert)];
  }
  EXPECT_EQ(census, expected);
}

INSTANTIATE_TEST_SUITE_P(Forms, ExpertsTest, testing::ValuesIn(kMixtures),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace millrace::backend
