// What int8 activations cost on the real model, and that a second term for the weights that need it buys it back.

#include "model/outliers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "base/cpu.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

using backend::MatmulPrecision;

std::vector<std::int32_t> text_tokens(const text::Tokenizer& tokenizer, std::size_t first, std::size_t n) {
  const std::string path = std::string(MILLRACE_TEST_DATA) + "/licenses.txt";
  const std::string text = read_file(Env::system(), path, 1 << 20).or_throw();
  const std::vector<std::int32_t> all = tokenizer.encode(text, false);
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + n)};
}

// Mean over the tokens of KL(softmax(reference) || softmax(logits)), in nats.
double mean_divergence(const std::vector<float>& reference, const std::vector<float>& logits, std::size_t vocabulary) {
  const auto log_sum = [&](const float* row) {
    double maximum = row[0], sum = 0.0;
    for (std::size_t v = 0; v < vocabulary; ++v) maximum = std::max<double>(maximum, row[v]);
    for (std::size_t v = 0; v < vocabulary; ++v) sum += std::exp(row[v] - maximum);
    return maximum + std::log(sum);
  };
  double total = 0.0;
  const std::size_t rows = reference.size() / vocabulary;
  for (std::size_t r = 0; r < rows; ++r) {
    const float *a = reference.data() + r * vocabulary, *b = logits.data() + r * vocabulary;
    const double la = log_sum(a), lb = log_sum(b);
    for (std::size_t v = 0; v < vocabulary; ++v) total += std::exp(a[v] - la) * ((a[v] - la) - (b[v] - lb));
  }
  return total / static_cast<double>(rows);
}

TEST(Outliers, ASecondTermForFewWeightsBringsTheRealModelNearerToFloat) {
  const char* path = std::getenv("MILLRACE_TEST_MODEL");
  if (path == nullptr) GTEST_SKIP() << "MILLRACE_TEST_MODEL is not set";
  TestRunner exact(path, {.precision = MatmulPrecision::kF32});
  const auto& tokenizer = *exact.checkpoint().tokenizer;
  const auto vocabulary = static_cast<std::size_t>(exact.transformer().spec().vocab_size);
  const std::vector<std::int32_t> tokens = text_tokens(tokenizer, 500, 192);
  const std::vector<float> reference = exact.run_whole(tokens);
  const auto divergence = [&](TestRunner& runner) {
    return mean_divergence(reference, runner.run_whole(tokens), vocabulary);
  };

  TestRunner plain(path, {});
  const double of_plain = divergence(plain);
  const std::vector<std::string> found = find_outlier_weights(plain.transformer(), text_tokens(tokenizer, 5000, 64));
  EXPECT_EQ(divergence(plain), of_plain);  // looking changes nothing
  plain.transformer().set_int8x2(found);
  const double of_found = divergence(plain);
  TestRunner int8x2(path, {.precision = MatmulPrecision::kInt8x2});
  const double of_all = divergence(int8x2);
  TestRunner bf16(path, {.precision = MatmulPrecision::kBf16});
  std::printf("  int8 %.2e nats, two terms in %zu weights %.2e, in all %.2e; bf16 %.2e\n", of_plain, found.size(),
              of_found, of_all, divergence(bf16));
  EXPECT_FALSE(found.empty());
  EXPECT_LT(found.size(), 100u);
  EXPECT_LT(of_found, 0.9 * of_plain);
  EXPECT_LT(of_all, 0.05 * of_plain);
}

TEST(Outliers, TheSameWeightsAreFoundWithAnyThreadsAndInstructions) {
  const char* path = std::getenv("MILLRACE_TEST_MODEL");
  if (path == nullptr) GTEST_SKIP() << "MILLRACE_TEST_MODEL is not set";
  std::vector<std::string> first;
  for (const auto& [threads, isa] : {std::pair{1, ""}, {3, ""}, {2, "avx2"}}) {
    if (*isa != '\0' && detect_isa() < Isa::kAvx2) continue;
    TestRunner runner(path, {.threads = threads, .isa = isa});
    const auto tokens = text_tokens(*runner.checkpoint().tokenizer, 5000, 48);
    const auto found = find_outlier_weights(runner.transformer(), tokens);
    if (first.empty()) first = found;
    EXPECT_EQ(found, first) << threads << " threads " << isa;
  }
}

}  // namespace
}  // namespace millrace::model
