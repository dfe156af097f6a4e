// Every linear kernel of every instruction set, with every format it takes, against float64.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "backend/cpu/testing/linear_fixture.h"
#include "base/buffer.h"

namespace millrace::backend::cpu {
namespace {

constexpr float kUnwritten = -12345.0f;

struct RunOptions {
  std::int64_t first_row = 0, rows = kRows, outputs = kOutputs;
  const float* bias = nullptr;
  const float* accumulate_onto = nullptr;  // [rows, outputs]
  float factor = 1.0f;
};

// Packs the first `outputs` rows of the weight, runs the kernel, and checks that it wrote nothing beside its outputs.
std::vector<float> run(const LinearCase& c, const LinearWeight& weight, const LinearInput& input,
                       const RunOptions& options = {}) {
  const std::int64_t panels = (options.outputs + kPanelRows - 1) / kPanelRows;
  const std::size_t panel_bytes = c.kernel->panel_bytes(*c.format, weight.k), row_bytes = c.format->row_bytes(weight.k);
  Buffer packed = Buffer::allocate(static_cast<std::size_t>(panels) * panel_bytes).or_throw();
  std::memset(packed.data(), 0xff, packed.size());
  for (std::int64_t p = 0; p < panels; ++p) {
    const auto n = static_cast<int>(std::min<std::int64_t>(kPanelRows, options.outputs - p * kPanelRows));
    c.kernel->pack(*c.format, weight.stored.data() + static_cast<std::size_t>(p * kPanelRows) * row_bytes, n, weight.k,
                   packed.data() + static_cast<std::size_t>(p) * panel_bytes);
  }
  const std::int64_t stride = options.outputs + 21;
  std::vector<float> out(static_cast<std::size_t>(options.rows * stride), kUnwritten), result;
  for (std::int64_t r = 0; r < options.rows && options.accumulate_onto != nullptr; ++r) {
    const float* from = options.accumulate_onto + r * options.outputs;
    std::copy(from, from + options.outputs, out.data() + r * stride);
  }
  c.kernel->run({.panels = packed.data(),
                 .n_panels = panels,
                 .panel_bytes = panel_bytes,
                 .x = input.rows(c.kernel->activation, options.first_row, options.rows),
                 .out = out.data(),
                 .out_stride = stride,
                 .out_columns = options.outputs,
                 .bias = options.bias,
                 .accumulate = options.accumulate_onto != nullptr,
                 .format = c.format,
                 .factor = options.factor});
  for (std::int64_t r = 0; r < options.rows; ++r) {
    const float* row = out.data() + r * stride;
    result.insert(result.end(), row, row + options.outputs);
    for (std::int64_t i = options.outputs; i < stride; ++i)
      EXPECT_EQ(row[i], kUnwritten) << "row " << r << " column " << i;
  }
  return result;
}

std::vector<float> rows_of(const std::vector<float>& full, std::int64_t first, std::int64_t rows,
                           std::int64_t outputs) {
  std::vector<float> part;
  for (std::int64_t r = first; r < first + rows; ++r) {
    part.insert(part.end(), full.begin() + r * kOutputs, full.begin() + r * kOutputs + outputs);
  }
  return part;
}

std::vector<std::int64_t> depths(const LinearCase& c) {
  if (const std::int64_t block = c.format->block_values; block > 1) {
    const std::int64_t above_a_chunk = 17 * kGroup;  // body/int8_many_rows.inc
    return {block, std::max(3 * block, (above_a_chunk + block - 1) / block * block)};
  }
  if (c.kernel->k_multiple == 1) return {1, 33, 96};
  return {2, 34, 96};
}

std::vector<float> pattern(const std::string& name, std::int64_t k) {
  std::vector<float> x = normal_values(static_cast<std::size_t>(kRows * k), 5);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (name == "all max") x[i] = 3.0f;
    if (name == "alternating") x[i] = i % 2 == 0 ? 3.0f : -3.0f;
    if (name == "outlier" && i % static_cast<std::size_t>(k) == 0) x[i] = 1e4f;
    if (name == "zeros") x[i] = 0.0f;
    if (name == "denormals") x[i] *= 1e-39f;
  }
  return x;
}

// A row as a kernel sees it, beside what it was, and how far off each value may be.
struct SeenRow {
  SeenRow(const LinearInput& input, ActivationType type, std::int64_t r, std::int64_t k, bool rounds_to_words)
      : x(static_cast<std::size_t>(k)), original(x), half_step(x), half_word(x) {
    for (std::int64_t i = 0; i < k; ++i) {
      const auto at = static_cast<std::size_t>(i);
      x[at] = input.seen(type, r, i);
      original[at] = input.seen(ActivationType::kF32, r, i);
      if (is_int8(type)) half_step[at] = input.half_step(type, r, i);
    }
    if (!rounds_to_words) return;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double largest = 0.0;
      for (std::size_t j = i / 16 * 16; j < i / 16 * 16 + 16; ++j) largest = std::max(largest, std::fabs(x[j]));
      half_word[i] = 0.5 * largest / 32767.0;
    }
  }
  std::vector<double> x, original, half_step, half_word;
};

class LinearKernels : public testing::TestWithParam<LinearCase> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LinearKernels);

// Rounding: a chain of at most `steps` fused multiply-adds, each off by kRounding of the terms so far. With int8 the
// sums within a scale are exact. Products of int8_16 round x to 16 bits themselves, by 16 values. Against the
// activations before quantization: half a step of each times |w|.
TEST_P(LinearKernels, MatchFloat64) {
  const LinearCase& c = GetParam();
  const ActivationType type = c.kernel->activation;
  const bool rounds_to_words = c.format->name == "int8_16" && c.kernel->format == "int8_16";
  for (const std::int64_t k : depths(c)) {
    const LinearWeight weight(c, k);
    const auto steps = static_cast<double>(is_int8(type) ? k / 8 : 2 * k) + 4.0;
    for (const char* name : {"random", "all max", "alternating", "outlier", "zeros", "denormals"}) {
      const LinearInput input(pattern(name, k), k);
      const std::vector<float> out = run(c, weight, input);
      for (std::int64_t r = 0; r < kRows; ++r) {
        const SeenRow seen(input, type, r, k, rounds_to_words);
        for (std::int64_t n = 0; n < kOutputs; ++n) {
          double exact = 0.0, terms = 0.0, unquantized = 0.0, lost = 0.0, of_words = 0.0;
          const std::size_t first = static_cast<std::size_t>(n * k);
          for (std::size_t i = 0; i < seen.x.size(); ++i) {
            const double weight_size = std::fabs(weight.values[first + i]);
            exact += seen.x[i] * weight.values[first + i];
            terms += std::fabs(seen.x[i]) * weight.magnitude[first + i];
            unquantized += seen.original[i] * weight.values[first + i];
            lost += seen.half_step[i] * weight_size;
            of_words += seen.half_word[i] * weight_size;
          }
          const double y = out[static_cast<std::size_t>(r * kOutputs + n)];
          const double rounding =
              steps * kRounding * terms + of_words * 1.001 + 1e-36;  // 1e-36: bf16 products flush denormals
          ASSERT_NEAR(y, exact, rounding) << name << " k " << k << " row " << r << " output " << n;
          if (is_int8(type)) {
            ASSERT_NEAR(y, unquantized, lost * 1.001 + rounding)
                << name << " k " << k << " row " << r << " output " << n;
          }
        }
      }
    }
  }
}

TEST_P(LinearKernels, ComputeARowAloneAsAmongOthers) {
  const LinearCase& c = GetParam();
  for (const std::int64_t k : depths(c)) {
    const LinearWeight weight(c, k);
    const std::vector<float> x = pattern("random", k);
    const LinearInput input(x, k);
    const std::vector<float> full = run(c, weight, input);
    for (const std::int64_t rows : {1, 2, 3, 5, 8, 16, 17, 33, 64}) {
      const std::int64_t first = kRows - rows;
      const LinearInput last(std::vector<float>(x.begin() + first * k, x.begin() + kRows * k), k);
      EXPECT_TRUE(same_bits(run(c, weight, last, {.rows = rows}), rows_of(full, first, rows, kOutputs)))
          << rows << " rows, k " << k;
    }
    for (const auto& [first, rows] : {std::pair(16, 49), std::pair(48, 17), std::pair(21, 1), std::pair(37, 11)}) {
      EXPECT_TRUE(
          same_bits(run(c, weight, input, {.first_row = first, .rows = rows}), rows_of(full, first, rows, kOutputs)))
          << rows << " rows from " << first << ", k " << k;
    }
    for (const std::int64_t outputs : {1, 15, 16, 17, 48}) {
      EXPECT_TRUE(same_bits(run(c, weight, input, {.rows = 9, .outputs = outputs}), rows_of(full, 0, 9, outputs)))
          << outputs << " outputs, k " << k;
    }
  }
}

TEST_P(LinearKernels, KeepNanAndInfinityInTheirRow) {
  const LinearCase& c = GetParam();
  const std::int64_t k = depths(c).back();
  const LinearWeight weight(c, k);
  std::vector<float> x = pattern("random", k);
  const std::vector<float> clean = run(c, weight, LinearInput(x, k));
  x[static_cast<std::size_t>(4 * k)] = kNan;
  x[static_cast<std::size_t>(6 * k + k - 1)] = kInf;
  x[static_cast<std::size_t>(32 * k + k / 2)] = -kInf;
  const std::vector<float> out = run(c, weight, LinearInput(x, k));
  for (std::int64_t r = 0; r < kRows; ++r) {
    const std::vector<float> row = rows_of(out, r, 1, kOutputs);
    if (r == 4 || r == 6 || r == 32) {
      for (const float y : row) ASSERT_FALSE(std::isfinite(y)) << "row " << r;
    } else {
      EXPECT_TRUE(same_bits(row, rows_of(clean, r, 1, kOutputs))) << "row " << r;
    }
  }
}

TEST_P(LinearKernels, ApplyTheFactorThenAddBiasAndResidual) {
  const LinearCase& c = GetParam();
  const std::int64_t k = depths(c).back(), outputs = 37;
  const LinearWeight weight(c, k);
  const LinearInput input(pattern("random", k), k);
  std::vector<float> bias = normal_values(static_cast<std::size_t>(outputs), 8);
  const std::vector<float> residual = normal_values(static_cast<std::size_t>(kRows * outputs), 9);
  const std::vector<float> plain = run(c, weight, input, {.outputs = outputs});
  const std::vector<float> both =
      run(c, weight, input, {.outputs = outputs, .bias = bias.data(), .accumulate_onto = residual.data()});
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const float with_bias = plain[i] + bias[i % static_cast<std::size_t>(outputs)];
    ASSERT_EQ(both[i], residual[i] + with_bias) << i;
  }
  const std::vector<float> scaled = run(
      c, weight, input, {.outputs = outputs, .bias = bias.data(), .accumulate_onto = residual.data(), .factor = 0.37f});
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const float product = plain[i] * 0.37f, with_bias = product + bias[i % static_cast<std::size_t>(outputs)];
    ASSERT_EQ(scaled[i], residual[i] + with_bias) << i;
  }
}

TEST_P(LinearKernels, UnpackWhatWasPacked) {
  const LinearCase& c = GetParam();
  for (const std::int64_t k : depths(c)) {
    const LinearWeight weight(c, k);
    const std::vector<float>& values = is_int8(c.kernel->activation) ? weight.exact : weight.values;
    for (const int n : {1, 15, 16}) {
      std::vector<std::byte> panel(c.kernel->panel_bytes(*c.format, k), std::byte{0xff});
      c.kernel->pack(*c.format, weight.stored.data(), n, k, panel.data());
      std::vector<float> row(static_cast<std::size_t>(k));
      for (int r = 0; r < kPanelRows; ++r) {
        c.kernel->unpack_row(*c.format, panel.data(), r, k, row.data());
        for (std::int64_t i = 0; i < k; ++i) {
          const float expected = r < n ? values[static_cast<std::size_t>(r * k + i)] : 0.0f;
          ASSERT_EQ(row[static_cast<std::size_t>(i)], expected) << "row " << r << " of " << n << " value " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LinearKernels, testing::ValuesIn(all_cases()), case_name);

// All are the same chains everywhere, denormals included: bf16 products flush them, the others do not.
TEST(LinearKernelsAcross, InstructionSetsGiveTheSameBits) {
  std::map<std::string, std::vector<float>> first;
  int compared = 0;
  for (const LinearCase& c : all_cases()) {
    const std::int64_t k = depths(c).back();
    const LinearWeight weight(c, k);
    for (const char* name : {"random", "outlier", "denormals"}) {
      const std::vector<float> out = run(c, weight, LinearInput(pattern(name, k), k));
      const std::string key =
          fmt::format("{} {} {} {}", c.kernel->name, static_cast<int>(c.kernel->activation), c.format->name, name);
      const auto [entry, is_first] = first.try_emplace(key, out);
      compared += is_first ? 0 : 1;
      EXPECT_TRUE(same_bits(entry->second, out)) << entry->first << " on " << to_string(c.isa);
    }
  }
  if (compared == 0) GTEST_SKIP() << "this build or processor has one instruction set only";
}

// vdpbf16ps equals two fused steps, the odd value of k first, denormals as zeros: that is what the sets without it
// compute, and what this one is held to over all exponents.
TEST(LinearKernelsAcross, Bf16ProductsAreTwoFlushedFusedSteps) {
  const auto flushed = [](float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; };
  const auto step = [&](float a, float b, float c) { return flushed(std::fma(flushed(a), flushed(b), c)); };
  constexpr std::int64_t k = 8;
  const quant::QuantFormat& format = *quant::find_format("bf16");
  std::mt19937 random(3);
  // Exponents: any; around 1; such that products and sums are denormal; denormal operands.
  const std::array<std::pair<int, int>, 4> ranges = {{{0, 254}, {110, 140}, {56, 70}, {0, 90}}};
  for (const auto& [low, high] : ranges) {
    const auto draw = [&, lowest = low, count = high - low + 1] {
      const int exponent = lowest + static_cast<int>(random() % static_cast<unsigned>(count));
      return static_cast<std::uint16_t>((random() & 0x807fu) | static_cast<unsigned>(exponent) << 7);
    };
    for (int trial = 0; trial < 200; ++trial) {
      std::array<std::uint16_t, k * kPanelRows> w;
      std::array<std::uint16_t, k> x;
      std::generate(w.begin(), w.end(), draw);
      std::generate(x.begin(), x.end(), draw);
      std::array<float, kPanelRows> expected{};
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        for (std::size_t i = 0; i < k; i += 2) {
          const std::uint16_t* pair = &w[r * k + i];
          expected[r] = step(bf16_to_f32(pair[1]), bf16_to_f32(x[i + 1]), expected[r]);
          expected[r] = step(bf16_to_f32(pair[0]), bf16_to_f32(x[i]), expected[r]);
        }
      }
      for (const KernelSet* set : supported_sets()) {
        for (const LinearKernel& kernel : set->linears) {
          if (kernel.activation != ActivationType::kBf16 || kernel.format != "bf16") continue;
          std::vector<std::byte> panel(kernel.panel_bytes(format, k));
          kernel.pack(format, reinterpret_cast<const std::byte*>(w.data()), kPanelRows, k, panel.data());
          std::array<float, kPanelRows> out{};
          LinearArgs args{};
          args.panels = panel.data();
          args.n_panels = 1;
          args.panel_bytes = panel.size();
          args.x.rows = 1;
          args.x.k = k;
          args.x.bf16 = x.data();
          args.out = out.data();
          args.out_stride = args.out_columns = kPanelRows;
          args.format = &format;
          kernel.run(args);
          for (std::size_t r = 0; r < kPanelRows; ++r) {
            if (std::isnan(expected[r]) && std::isnan(out[r])) continue;  // which NaN is not defined
            ASSERT_EQ(std::bit_cast<std::uint32_t>(out[r]), std::bit_cast<std::uint32_t>(expected[r]))
                << to_string(set->isa) << ": " << out[r] << " instead of " << expected[r];
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace::backend::cpu
