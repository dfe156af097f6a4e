// Tiny Llamas with a matrix, or a stack of experts, of each of GGUF's rarer block types and with NVFP4's factors
// (tests/golden/make_gguf_types.py), against what their blocks mean; and models of one such type each.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "model/testing/golden_logits.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;
using backend::MatmulPrecision;

// Root mean square of the differences, relative to that of b.
double rms_error(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0.0, power = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    power += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(error / power);
}

class GgufTypeModels : public testing::TestWithParam<const char*> {
 protected:
  GgufTypeModels() : folder_(fs::path(MILLRACE_TEST_DATA) / "../golden/gguf_types" / GetParam()) {}
  std::vector<float> logits(const TestRunner::Options& options) const {
    return TestRunner(folder_ / "model.gguf", options).run_whole(golden_.tokens);
  }
  fs::path folder_;
  GoldenLogits golden_ = read_golden(folder_);
};

TEST_P(GgufTypeModels, AnswerAsTheirDequantizedTwins) {
  const std::vector<float> found = logits({.precision = MatmulPrecision::kF32});
  ASSERT_EQ(found.size(), golden_.logits.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = std::abs(static_cast<double>(found[i]) - golden_.logits[i]);
    largest = std::isnan(error) ? INFINITY : std::max(largest, error);
  }
  std::printf("  %-8s max error %.2e\n", GetParam(), largest);
  EXPECT_LE(largest, 1e-4);
}

TEST_P(GgufTypeModels, StayNearThemWithActivationsInInt8) {
  const double error = rms_error(logits({.precision = MatmulPrecision::kAuto}), golden_.logits);
  const double twice = rms_error(logits({.precision = MatmulPrecision::kInt8x2}), golden_.logits);
  std::printf("  %-8s int8 %.2f %%, int8x2 %.4f %%\n", GetParam(), 100.0 * error, 100.0 * twice);
  EXPECT_LE(error, 0.03);
  EXPECT_LE(twice, 0.0005);
}

TEST_P(GgufTypeModels, GiveTheSameBitsForAnyThreadsAndSteps) {
  const std::vector<float> whole = logits({.threads = 1});
  EXPECT_EQ(logits({.threads = 2}), whole);
  TestRunner runner(folder_ / "model.gguf", {.threads = 2});
  const auto n = static_cast<std::int64_t>(golden_.tokens.size());
  std::vector<std::vector<TestRunner::Chunk>> steps;
  for (std::int64_t at = 0, take = 1; at < n; at += take, take = take % 5 + 1) {
    steps.push_back({{0, std::min(take, n - at)}});
  }
  EXPECT_EQ(runner.run({golden_.tokens}, steps).front(), whole);
}

INSTANTIATE_TEST_SUITE_P(Types, GgufTypeModels, testing::Values("llama", "experts"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace millrace::model
