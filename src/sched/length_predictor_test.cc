#include "sched/length_predictor.h"

#include <gtest/gtest.h>

#include <random>

namespace millrace::sched {
namespace {

TEST(LengthPredictor, SaysTheLimitBeforeAnythingIsKnownAndTheHintWhereThereIsOne) {
  const auto predictor = make_quantile_predictor();
  EXPECT_EQ(predictor->predict(1, 100, 0, 512, 0), 512);
  EXPECT_EQ(predictor->predict(1, 100, 0, 512, 40), 40);
  EXPECT_EQ(predictor->predict(1, 100, 50, 512, 40), 512);
  EXPECT_EQ(predictor->predict(1, 100, 0, 512, 4000), 512);
}

TEST(LengthPredictor, SaysTheQuantileOfTheTenantsAnswers) {
  const auto predictor = make_quantile_predictor(0.9);
  for (int i = 1; i <= 20; ++i) predictor->observe(1, i);
  for (int i = 1; i <= 20; ++i) predictor->observe(2, 100 + i);
  EXPECT_EQ(predictor->predict(1, 8, 0, 512, 0), 18);
  EXPECT_EQ(predictor->predict(2, 8, 0, 512, 0), 118);
}

TEST(LengthPredictor, GoesByLongerAnswersOnlyOnceSomeTokensAreThere) {
  const auto predictor = make_quantile_predictor(0.5);
  for (int i = 0; i < 20; ++i) predictor->observe(1, 10);
  for (int i = 0; i < 10; ++i) predictor->observe(1, 100);
  EXPECT_EQ(predictor->predict(1, 8, 0, 512, 0), 10);
  EXPECT_EQ(predictor->predict(1, 8, 10, 512, 0), 100);
  EXPECT_EQ(predictor->predict(1, 8, 100, 512, 0), 200);  // longer than any before
}

TEST(LengthPredictor, GoesByAllTenantsWhereOneIsNew) {
  const auto predictor = make_quantile_predictor(1.0);
  for (int i = 0; i < 10; ++i) predictor->observe(1, 30);
  EXPECT_EQ(predictor->predict(7, 8, 0, 512, 0), 30);
}

TEST(LengthPredictor, ForgetsOldAnswers) {
  const auto predictor = make_quantile_predictor();
  for (int i = 0; i < 100; ++i) predictor->observe(1, 500);
  for (int i = 0; i < 40; ++i) predictor->observe(1, 20);
  EXPECT_EQ(predictor->predict(1, 8, 0, 512, 0), 20);
}

TEST(LengthPredictor, StaysWithinProducedAndLimitWhateverItIsAsked) {
  const auto predictor = make_quantile_predictor();
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    const auto tenant = static_cast<std::uint32_t>(random() % 5000);
    predictor->observe(tenant, static_cast<std::int64_t>(random() % 300));
    const std::int64_t limit = 1 + static_cast<std::int64_t>(random() % 400);
    const std::int64_t produced = static_cast<std::int64_t>(random()) % limit;
    const std::int64_t length =
        predictor->predict(tenant, 1, produced, limit, static_cast<std::int64_t>(random() % 500));
    ASSERT_LT(produced, length);
    ASSERT_LE(length, limit);
  }
}

}  // namespace
}  // namespace millrace::sched
