#include "decode/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "decode/softmax.h"
#include "decode/testing/random_row.h"

namespace millrace::decode {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// In the C library's arithmetic, term by term.
double plain_surprise(const std::vector<float>& row, std::size_t token) {
  double largest = row[0], sum = 0.0;
  for (const float x : row) largest = std::max(largest, static_cast<double>(x));
  for (const float x : row) sum += std::exp(static_cast<double>(x) - largest);
  return largest + std::log(sum) - static_cast<double>(row[token]);
}

TEST(Perplexity, IsTheExponentialOfTheMeanSurprise) {
  for (const std::size_t n : {1u, 2u, 255u, 256u, 257u, 5000u, 49152u}) {
    Perplexity perplexity;
    double total = 0.0, squares = 0.0;
    for (unsigned i = 0; i < 20; ++i) {
      const std::vector<float> row = random_row(n, i, i % 2 == 0 ? 0.5f : 6.0f);
      const std::size_t token = i * 7919u % n;
      perplexity.add(row, static_cast<std::int32_t>(token));
      const double surprise = plain_surprise(row, token);
      total += surprise, squares += surprise * surprise;
    }
    const double mean = total / 20.0, value = std::exp(mean);
    const double error = std::sqrt(std::max(0.0, squares / 20.0 - mean * mean) / 20.0) * value;
    EXPECT_EQ(perplexity.tokens(), 20);
    EXPECT_NEAR(perplexity.value(), value, 1e-12 * value) << n;
    EXPECT_NEAR(perplexity.error(), error, 1e-12 * value) << n;
  }
}

TEST(Perplexity, OfAFlatRowIsTheSizeOfTheVocabularyWithoutError) {
  Perplexity perplexity;
  const std::vector<float> row(1000, -2.5f);
  for (std::int32_t token = 0; token < 4; ++token) perplexity.add(row, token);
  EXPECT_NEAR(perplexity.value(), 1000.0, 1e-9);
  EXPECT_NEAR(perplexity.error(), 0.0, 1e-3);  // of a difference that is zero up to rounding, the root
}

TEST(Perplexity, ForbiddenTokensCountAsImpossible) {
  Perplexity perplexity;
  perplexity.add(std::vector<float>{1.0f, -kInfinity, 1.0f}, 0);
  EXPECT_NEAR(perplexity.value(), 2.0, 1e-12);
  perplexity.add(std::vector<float>{1.0f, -kInfinity, 1.0f}, 1);
  EXPECT_EQ(perplexity.value(), std::numeric_limits<double>::infinity());
}

TEST(Perplexity, IsNaNOnceARowIsWithoutASoftmax) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& row :
       {std::vector<float>{nan, 1.0f}, {1.0f, nan}, {1.0f, kInfinity}, {-kInfinity, -kInfinity}}) {
    Perplexity perplexity;
    perplexity.add(std::vector<float>{1.0f, 2.0f}, 0);
    perplexity.add(row, 0);
    EXPECT_TRUE(std::isnan(perplexity.value()));
  }
}

TEST(LogSumExp, HasTheSameBitsWhateverFollowsTheRowInMemory) {
  std::vector<float> row = random_row(777, 5, 3.0f);
  const double alone = log_sum_exp(row);
  row.resize(1024, 90.0f);
  EXPECT_EQ(log_sum_exp(std::span(row).first(777)), alone);
}

}  // namespace
}  // namespace millrace::decode
