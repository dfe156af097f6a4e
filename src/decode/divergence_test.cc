#include "decode/divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace millrace::decode {
namespace {

TEST(Divergence, OfADistributionFromItselfIsZero) {
  Divergence same;
  // Logits are known up to a constant.
  same.add(std::vector{1.0f, 2.0f, -3.0f}, std::vector{6.0f, 7.0f, 2.0f});
  EXPECT_NEAR(same.mean(), 0.0, 1e-12);
  EXPECT_EQ(same.same_top(), 1.0);
  EXPECT_EQ(same.tokens(), 1);
}

TEST(Divergence, IsTheSumOfItsDefinition) {
  const double p[] = {0.5, 0.25, 0.25}, q[] = {0.25, 0.5, 0.25};
  std::vector<float> reference, logits;
  double expected = 0.0;
  for (int i = 0; i < 3; ++i) {
    reference.push_back(static_cast<float>(std::log(p[i])));
    logits.push_back(static_cast<float>(std::log(q[i])));
    expected += p[i] * std::log(p[i] / q[i]);
  }
  Divergence one;
  one.add(reference, logits);
  EXPECT_NEAR(one.mean(), expected, 1e-6);
  EXPECT_EQ(one.same_top(), 0.0);
}

TEST(Divergence, SummarizesRows) {
  Divergence rows;
  const std::vector<float> even = {0.0f, 0.0f};
  for (const float shift : {0.0f, 1.0f, 2.0f, 3.0f, 8.0f}) rows.add(even, std::vector{0.0f, shift});
  EXPECT_EQ(rows.tokens(), 5);
  EXPECT_LT(rows.quantile(0.0), 1e-12);
  EXPECT_LT(rows.quantile(0.5), rows.mean());
  EXPECT_GT(rows.quantile(1.0), rows.mean());
  EXPECT_GT(rows.error(), 0.0);
  EXPECT_EQ(rows.same_top(), 0.2);  // the first of two equal ones
  // A token that the reference rules out adds nothing, whatever the model thinks of it.
  Divergence ruled_out;
  ruled_out.add(std::vector{0.0f, -INFINITY}, std::vector{0.0f, -INFINITY});
  EXPECT_NEAR(ruled_out.mean(), 0.0, 1e-12);
}

}  // namespace
}  // namespace millrace::decode
