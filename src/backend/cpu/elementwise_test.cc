// Norms, activations, rotation and quantization of every instruction set against float64, on sizes that leave part of a
// vector.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>

#include "backend/cpu/testing/reference.h"

namespace millrace::backend::cpu {
namespace {

constexpr std::int64_t kSizes[] = {1, 15, 16, 17, 576};
constexpr float kSentinel = -12345.0f;

// Room for n results and a margin that must stay as it is.
struct Output {
  std::int64_t n;
  std::vector<float> values;
  explicit Output(std::int64_t size) : n(size), values(static_cast<std::size_t>(size) + 20, kSentinel) {}
  float* data() { return values.data(); }
  float operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i)]; }
  bool margin_is_intact() const {
    return std::all_of(values.begin() + n, values.end(), [](float v) { return v == kSentinel; });
  }
};

std::vector<float> input(std::int64_t n, unsigned seed) { return normal_values(static_cast<std::size_t>(n), seed); }

// Runs `test` for each instruction set that has elementwise kernels.
void for_each_set(const std::function<void(const KernelSet&)>& test) {
  int sets = 0;
  for (const KernelSet* set : supported_sets()) {
    if (set->rms_norm == nullptr) continue;
    ++sets;
    SCOPED_TRACE(to_string(set->isa));
    test(*set);
  }
  EXPECT_GT(sets, 0);
}

// Sums run in sixteen lanes of n / 16 steps and a tree of four: (n / 16 + 8) roundings, halved by the root.
double norm_bound(std::int64_t n) { return (static_cast<double>(n) / 16.0 + 8.0) * kRounding; }

TEST(Elementwise, RmsNormMatchesFloat64) {
  for_each_set([](const KernelSet& set) {
    for (const std::int64_t n : kSizes) {
      const std::vector<float> x = input(n, 1), weight = input(n, 2);
      Output out(n);
      set.rms_norm(x.data(), n, weight.data(), 1e-5f, out.data());
      double squares = 0.0;
      for (const float v : x) squares += static_cast<double>(v) * v;
      const double scale = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double exact = x[at] * scale * weight[at];
        ASSERT_NEAR(out[i], exact, norm_bound(n) * std::fabs(exact)) << n << " at " << i;
      }
      EXPECT_TRUE(out.margin_is_intact());
      std::vector<float> in_place = x;
      set.rms_norm(in_place.data(), n, weight.data(), 1e-5f, in_place.data());
      EXPECT_TRUE(same_bits(in_place, std::span(out.values).first(x.size())));
    }
  });
}

TEST(Elementwise, LayerNormMatchesFloat64) {
  for_each_set([](const KernelSet& set) {
    for (const std::int64_t n : kSizes) {
      const std::vector<float> x = input(n, 1), weight = input(n, 2), bias = input(n, 3);
      double mean = 0.0, variance = 0.0, largest = 0.0;
      for (const float v : x) mean += v / static_cast<double>(n);
      for (const float v : x) variance += (v - mean) * (v - mean) / static_cast<double>(n);
      for (const float v : x) largest = std::max(largest, std::fabs(static_cast<double>(v)));
      const double scale = 1.0 / std::sqrt(variance + 1e-5);
      for (const float* b : {bias.data(), static_cast<const float*>(nullptr)}) {
        Output out(n);
        set.layer_norm(x.data(), n, weight.data(), b, 1e-5f, out.data());
        for (std::int64_t i = 0; i < n; ++i) {
          const auto at = static_cast<std::size_t>(i);
          const double exact = (x[at] - mean) * scale * weight[at] + (b == nullptr ? 0.0 : b[at]);
          // The mean's error counts in full where x - mean cancels.
          const double terms = largest * scale * std::fabs(weight[at]) + (b == nullptr ? 0.0 : std::fabs(b[at]));
          ASSERT_NEAR(out[i], exact, norm_bound(n) * terms) << n << " at " << i;
        }
        EXPECT_TRUE(out.margin_is_intact());
      }
    }
  });
}

constexpr Activation kActivations[] = {Activation::kSilu, Activation::kGelu,        Activation::kGeluTanh,
                                       Activation::kRelu, Activation::kReluSquared, Activation::kQuickGelu,
                                       Activation::kXielu};
constexpr ActivationParameters kXieluParameters{.alpha_p = 0.8f, .alpha_n = 1.3f, .beta = 0.5f, .eps = -1e-6f};

constexpr ActivationParameters kClampParameters{.alpha = 1.702f, .limit = 1.5f, .shift = 1.0f};

double exact_activation(Activation kind, double x) {
  switch (kind) {
    case Activation::kSilu: return x / (1.0 + std::exp(-x));
    case Activation::kGelu: return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::kGeluTanh: {
      const double u = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return x / (1.0 + std::exp(-2.0 * u));
    }
    case Activation::kRelu: return std::max(x, 0.0);
    case Activation::kReluSquared: return x > 0.0 ? x * x : 0.0;
    case Activation::kQuickGelu: return x / (1.0 + std::exp(-1.702 * x));
    case Activation::kXielu: {
      const double straight = kXieluParameters.beta * x;
      if (x > 0.0) return kXieluParameters.alpha_p * x * x + straight;
      return kXieluParameters.alpha_n * (std::expm1(std::min<double>(x, kXieluParameters.eps)) - x) + straight;
    }
    case Activation::kClampedSwiglu: break;  // of two numbers
  }
  return 0.0;
}

// The exponent of e^-x carries |x| * kRounding, exp2 adds 2e-7; gelu's 1 + erf cancels for negative x: absolute 1e-6
// covers each.
TEST(Elementwise, ActivationsMatchFloat64) {
  for_each_set([](const KernelSet& set) {
    for (const std::int64_t n : kSizes) {
      std::vector<float> gate = input(n, 1);
      for (float& v : gate) v *= 4.0f;
      const float special[] = {0.0f, -0.0f, 100.0f, -100.0f, 1e-40f, 1e30f, -1e30f, -1e-3f, -1e-7f, -0.34f, -0.35f};
      for (std::size_t i = 0; i < std::size(special) && i + 1 < gate.size(); ++i) gate[i] = special[i];
      const std::vector<float> up = input(n, 2);
      for (const auto kind : kActivations) {
        for (const float* u : {up.data(), static_cast<const float*>(nullptr)}) {
          Output out(n);
          set.activate(kind, kXieluParameters, gate.data(), u, n, out.data());
          for (std::int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const double factor = u == nullptr ? 1.0 : u[at], exact = exact_activation(kind, gate[at]) * factor;
            if (std::fabs(exact) > std::numeric_limits<float>::max()) continue;
            ASSERT_NEAR(out[i], exact, 1e-6 * std::max(std::fabs(factor), std::fabs(exact)))
                << "activation " << static_cast<int>(kind) << " of " << gate[at];
          }
          EXPECT_TRUE(out.margin_is_intact());
        }
      }
    }
  });
}

TEST(Elementwise, ClampedSwigluMatchesFloat64AndKeepsNan) {
  for_each_set([](const KernelSet& set) {
    for (const std::int64_t n : kSizes) {
      std::vector<float> gate = input(n, 1), up = input(n, 2);
      for (float& v : gate) v *= 4.0f;
      for (float& v : up) v *= 2.0f;
      gate[0] = std::numeric_limits<float>::quiet_NaN();
      if (n > 1) up[1] = std::numeric_limits<float>::quiet_NaN();
      Output out(n);
      set.activate(Activation::kClampedSwiglu, kClampParameters, gate.data(), up.data(), n, out.data());
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double g = std::min<double>(gate[at], 1.5), u = std::clamp<double>(up[at], -1.5, 1.5);
        if (i < 2) {
          EXPECT_TRUE(std::isnan(out[i])) << i;
        } else {
          ASSERT_NEAR(out[i], g / (1.0 + std::exp(-1.702 * g)) * (u + 1.0), 3e-6) << gate[at] << " " << up[at];
        }
      }
      EXPECT_TRUE(out.margin_is_intact());
    }
  });
}

TEST(Elementwise, ActivationsKeepNan) {
  for_each_set([](const KernelSet& set) {
    std::vector<float> x = input(17, 1);
    x[3] = x[16] = std::numeric_limits<float>::quiet_NaN();
    for (const auto kind : kActivations) {
      Output out(17);
      set.activate(kind, kXieluParameters, x.data(), nullptr, 17, out.data());
      for (std::int64_t i = 0; i < 17; ++i) {
        EXPECT_EQ(std::isnan(out[i]), i == 3 || i == 16) << "activation " << static_cast<int>(kind) << " at " << i;
      }
    }
  });
}

// tanh with a relative error of four roundings of its steps, from the smallest to where it is one.
TEST(Elementwise, CapsAsTanhDoes) {
  for_each_set([](const KernelSet& set) {
    std::vector<float> x = {0.0f, 1e-38f, -1e-30f, 1e-10f, 1e-5f, 1e30f};
    for (int i = -3000; i <= 3000; ++i) x.push_back(static_cast<float>(i) * 0.0037f);
    std::vector<float> out = x;
    set.scale(out.data(), std::ssize(out), 1.0f, 1.0f);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = std::tanh(static_cast<double>(x[i]));
      ASSERT_NEAR(out[i], exact, 8.0 * kRounding * std::fabs(exact)) << x[i];
    }
  });
}

TEST(Elementwise, ClampsAndKeepsTheRest) {
  for_each_set([](const KernelSet& set) {
    for (const std::int64_t n : kSizes) {
      const std::vector<float> x = input(n, 1);
      Output out(n);
      std::copy(x.begin(), x.end(), out.data());
      set.clamp(out.data(), n, 0.5f);
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], std::clamp(x[static_cast<std::size_t>(i)], -0.5f, 0.5f));
      EXPECT_TRUE(out.margin_is_intact());
    }
  });
}

TEST(Elementwise, RopeRotatesHalvesAndLeavesTheRest) {
  for_each_set([](const KernelSet& set) {
    for (const std::int64_t rotated : {2, 30, 32, 34, 64}) {
      const std::int64_t half = rotated / 2;
      const std::vector<float> x = input(rotated, 1);
      std::vector<float> cos_sin(static_cast<std::size_t>(rotated));
      for (std::int64_t i = 0; i < half; ++i) {
        cos_sin[static_cast<std::size_t>(i)] = static_cast<float>(std::cos(0.3 * static_cast<double>(i)));
        cos_sin[static_cast<std::size_t>(half + i)] = static_cast<float>(std::sin(0.3 * static_cast<double>(i)));
      }
      Output out(rotated);
      std::copy(x.begin(), x.end(), out.data());
      set.rope(out.data(), rotated, cos_sin.data());
      for (std::int64_t i = 0; i < half; ++i) {
        const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(half + i);
        const double c = cos_sin[a], s = cos_sin[b], length = std::fabs(x[a]) + std::fabs(x[b]);
        ASSERT_NEAR(out[i], x[a] * c - x[b] * s, 2.0 * kRounding * length);
        ASSERT_NEAR(out[half + i], x[b] * c + x[a] * s, 2.0 * kRounding * length);
      }
      EXPECT_TRUE(out.margin_is_intact());
    }
  });
}

TEST(Elementwise, AddIsExact) {
  for_each_set([](const KernelSet& set) {
    for (const std::int64_t n : kSizes) {
      const std::vector<float> x = input(n, 1), y = input(n, 2);
      Output out(n);
      std::copy(y.begin(), y.end(), out.data());
      set.add(x.data(), n, 1.0f, out.data());
      for (std::int64_t i = 0; i < n; ++i)
        ASSERT_EQ(out[i], x[static_cast<std::size_t>(i)] + y[static_cast<std::size_t>(i)]);
      EXPECT_TRUE(out.margin_is_intact());
    }
  });
}

TEST(Elementwise, ToBf16RoundsToNearestEven) {
  for_each_set([](const KernelSet& set) {
    for (const std::int64_t n : kSizes) {
      std::vector<float> x = input(n, 1);
      x[0] = std::numeric_limits<float>::quiet_NaN();
      std::vector<std::uint16_t> out(x.size());
      set.to_bf16(x.data(), n, out.data());
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], f32_to_bf16(x[i]));
    }
  });
}

struct Quantized {
  std::vector<Int8Group> groups;
  Quantized(const KernelSet& set, const std::vector<float>& x) : groups(x.size() / kGroup) {
    set.quantize(x.data(), static_cast<std::int64_t>(x.size()), ActivationType::kInt8, groups.data(), 1);
  }
  int code(std::size_t i) const { return groups[i / kGroup].codes[i % kGroup]; }
};

TEST(Quantize, ReconstructsWithinHalfAStep) {
  for_each_set([](const KernelSet& set) {
    for (const float size : {1.0f, 1e-30f, 1e-37f, 1e-39f, 1e37f}) {
      std::vector<float> x = normal_values(576, 1, size);
      std::fill_n(x.begin() + 64, kGroup, 0.0f);
      x[5] = 0.0f;                                                           // among tiny values: its code must be 0
      if (size > 1.0f) x[100] = x[116] = std::numeric_limits<float>::max();  // their sum is infinite
      const Quantized out(set, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t group = i / kGroup;
        ASSERT_TRUE(std::isfinite(out.groups[group].scale)) << size;
        ASSERT_GE(out.code(i), -127);
        const double error = std::fabs(static_cast<double>(out.groups[group].scale) * out.code(i) - x[i]);
        // Half a step, roundings of scale and product; groups below 1e-36 count as zeros.
        ASSERT_LE(error, std::max(0.5001 * static_cast<double>(out.groups[group].scale), 1e-36)) << x[i] << " at " << i;
        if (x[i] == 0.0f) {
          ASSERT_EQ(out.code(i), 0);
        }
      }
      for (std::size_t g = 0; g < out.groups.size(); ++g) {
        const auto* codes = out.groups[g].codes;
        for (const int half : {0, 1}) {
          ASSERT_EQ(-out.groups[g].minus_half_sum[half], std::accumulate(codes + half * 16, codes + half * 16 + 16, 0));
        }
        ASSERT_EQ(-out.groups[g].minus_sum, std::accumulate(codes, codes + kGroup, 0));
      }
      EXPECT_EQ(out.groups[2].scale, 0.0f) << "a group of zeros";
    }
  });
}

TEST(Quantize, TheRemainderIsWhatTheFirstTermLeftAndHasTheSameBitsEverywhere) {
  const std::vector<float> x = normal_values(576, 2, 3.0f);
  std::vector<Int8Group> expected;
  for_each_set([&](const KernelSet& set) {
    const Quantized first(set, x);
    std::vector<Int8Group> left(x.size() / kGroup);
    set.quantize_remainder(x.data(), static_cast<std::int64_t>(x.size()), ActivationType::kInt8, first.groups.data(),
                           left.data(), 1);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t group = i / kGroup;
      const auto &scale = first.groups[group].scale, &left_scale = left[group].scale;
      const double both =
          static_cast<double>(scale) * first.code(i) + static_cast<double>(left_scale) * left[group].codes[i % kGroup];
      ASSERT_NEAR(both, x[i], 0.51 * left_scale);
      ASSERT_LT(left_scale, scale / 200.0f);
    }
    if (expected.empty()) expected = left;
    ASSERT_EQ(std::memcmp(left.data(), expected.data(), left.size() * sizeof(Int8Group)), 0);
  });
}

TEST(Quantize, PoisonsTheScaleOfAGroupThatIsNotFinite) {
  for_each_set([](const KernelSet& set) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
      for (const std::size_t at : {std::size_t{32}, std::size_t{63}}) {
        std::vector<float> x = normal_values(96, 1);
        x[at] = bad;
        const Quantized out(set, x);
        for (std::size_t g = 0; g < 3; ++g) EXPECT_EQ(std::isnan(out.groups[g].scale), g == 1) << bad << " at " << at;
      }
    }
  });
}

TEST(Elementwise, InstructionSetsGiveTheSameBits) {
  const KernelSet scalar = select_kernels(Isa::kScalar);
  for_each_set([&](const KernelSet& set) {
    const std::vector<float> x = input(577, 1), weight = input(577, 2);
    const auto both = [&](const std::function<void(const KernelSet&, float*)>& run, const char* what) {
      Output expected(577), out(577);
      run(scalar, expected.data());
      run(set, out.data());
      EXPECT_TRUE(same_bits(expected.values, out.values)) << what;
    };
    both([&](const KernelSet& s, float* out) { s.rms_norm(x.data(), 577, weight.data(), 1e-6f, out); }, "rms_norm");
    both([&](const KernelSet& s, float* out) { s.layer_norm(x.data(), 577, weight.data(), x.data(), 1e-6f, out); },
         "layer_norm");
    for (const auto kind : kActivations) {
      both([&](const KernelSet& s,
               float* out) { s.activate(kind, kXieluParameters, x.data(), weight.data(), 577, out); },
           "activate");
    }
    const auto both_in_place = [&](const std::function<void(const KernelSet&, float*)>& run, const char* what) {
      both(
          [&](const KernelSet& s, float* out) {
            std::copy(x.begin(), x.end(), out);
            run(s, out);
          },
          what);
    };
    both_in_place([&](const KernelSet& s, float* out) { s.rope(out, 70, weight.data()); }, "rope");
    both_in_place([&](const KernelSet& s, float* out) { s.add(weight.data(), 577, 0.3f, out); }, "add");
    both_in_place([&](const KernelSet& s, float* out) { s.scale(out, 577, 3.0f, 2.0f); }, "scale");
    both_in_place([&](const KernelSet& s, float* out) { s.clamp(out, 577, 1.0f); }, "clamp");
    both_in_place([&](const KernelSet& s, float* out) { s.gate(weight.data(), 577, 1, out); }, "gate of channels");
    both_in_place([&](const KernelSet& s, float* out) { s.gate(weight.data(), 28, 20, out); }, "gate of heads");
    const std::vector<float> groups(x.begin(), x.begin() + 576);
    const Quantized expected(scalar, groups), out(set, groups);
    EXPECT_EQ(std::memcmp(expected.groups.data(), out.groups.data(), groups.size() / kGroup * sizeof(Int8Group)), 0);
  });
}

}  // namespace
}  // namespace millrace::backend::cpu
