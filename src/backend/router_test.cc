// Each router against its formula in float64, and what holds for all: different experts, ties to the lower number,
// numbers that are none.

#include "backend/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace millrace::backend {
namespace {

using Doubles = std::vector<double>;

std::vector<float> random_logits(std::int64_t n, unsigned seed, float deviation = 2.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> out(static_cast<std::size_t>(n));
  for (float& x : out) x = normal(random);
  return out;
}

std::vector<Choice> chosen_by(const Routing& routing, const std::vector<float>& logits,
                              const std::vector<float>& bias = {}) {
  std::vector<Choice> out(static_cast<std::size_t>(routing.chosen));
  choose_experts(find_router(routing.router), routing, logits.data(), bias.empty() ? nullptr : bias.data(), out.data());
  return out;
}

Doubles exact_softmax(const std::vector<float>& x) {
  const double most = *std::ranges::max_element(x);
  Doubles p;
  for (const float v : x) p.push_back(std::exp(v - most));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& v : p) v /= sum;
  return p;
}

Doubles exact_sigmoids(const std::vector<float>& x) {
  Doubles p;
  for (const float v : x) p.push_back(1.0 / (1.0 + std::exp(-static_cast<double>(v))));
  return p;
}

// The numbers of the k highest scores, the highest first; the first of equal ones.
std::vector<std::size_t> highest(const Doubles& scores, std::int64_t k) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(static_cast<std::size_t>(k));
  return order;
}

void expect_choices(const std::vector<Choice>& found, const std::vector<std::size_t>& experts, const Doubles& weights) {
  ASSERT_EQ(found.size(), experts.size());
  for (std::size_t j = 0; j < experts.size(); ++j) {
    EXPECT_EQ(static_cast<std::size_t>(found[j].expert), experts[j]) << "choice " << j;
    EXPECT_NEAR(found[j].weight, weights[j], 2e-6 * std::max(1.0, weights[j])) << "choice " << j;
  }
}

Doubles expected_weights(const std::vector<std::size_t>& experts, const Doubles& values, double divisor, double scale) {
  Doubles out;
  for (const std::size_t e : experts) out.push_back(values[e] / divisor * scale);
  return out;
}

double sum_of(const std::vector<std::size_t>& experts, const Doubles& values) {
  double sum = 0.0;
  for (const std::size_t e : experts) sum += values[e];
  return sum;
}

TEST(Router, SoftmaxWeighsByProbability) {
  for (const bool normalised : {false, true}) {
    for (unsigned seed = 0; seed < 50; ++seed) {
      const std::vector<float> logits = random_logits(13, seed), bias = random_logits(13, seed + 1000, 0.1f);
      const Routing routing{.experts = 13, .chosen = 4, .normalised = normalised, .floor = 0.7f, .scale = 1.5f};
      const Doubles p = exact_softmax(logits);
      Doubles scores = p;
      for (std::size_t e = 0; e < 13; ++e) scores[e] += bias[e];
      const auto experts = highest(scores, 4);
      const double sum = std::max(sum_of(experts, p), 0.7);
      expect_choices(chosen_by(routing, logits, bias), experts,
                     expected_weights(experts, p, normalised ? sum : 1.0, 1.5));
    }
  }
}

TEST(Router, SoftmaxOfChosenWeighsAmongThem) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const std::vector<float> logits = random_logits(9, seed);
    const auto experts = highest(Doubles(logits.begin(), logits.end()), 3);
    const Doubles p = exact_softmax(logits);
    const Routing routing{.router = "softmax_of_chosen", .experts = 9, .chosen = 3};
    expect_choices(chosen_by(routing, logits), experts, expected_weights(experts, p, sum_of(experts, p), 1.0));
  }
}

TEST(Router, SigmoidChoosesWithTheBiasAndWeighsWithout) {
  int changed = 0;
  for (const bool normalised : {false, true}) {
    for (unsigned seed = 0; seed < 50; ++seed) {
      const std::vector<float> logits = random_logits(12, seed), bias = random_logits(12, seed + 1000, 0.3f);
      const Doubles s = exact_sigmoids(logits);
      Doubles scores = s;
      for (std::size_t e = 0; e < 12; ++e) scores[e] += bias[e];
      const auto experts = highest(scores, 3);
      changed += experts != highest(s, 3);
      const Routing routing{
          .router = "sigmoid", .experts = 12, .chosen = 3, .normalised = normalised, .floor = 1e-20f, .scale = 2.5f};
      expect_choices(chosen_by(routing, logits, bias), experts,
                     expected_weights(experts, s, normalised ? sum_of(experts, s) : 1.0, 2.5));
    }
  }
  EXPECT_GT(changed, 10);
}

// Groups by the sum of their two best for sigmoids, by their best for softmax.
TEST(Router, OnlyExpertsOfTheBestGroupsAreChosen) {
  int changed = 0;
  for (const std::string_view router : {"sigmoid", "softmax"}) {
    for (unsigned seed = 0; seed < 50; ++seed) {
      const std::vector<float> logits = random_logits(12, seed);
      Doubles scores = router == "sigmoid" ? exact_sigmoids(logits) : exact_softmax(logits);
      const auto free = highest(scores, 3);
      Doubles groups;
      for (std::size_t g = 0; g < 4; ++g) {
        Doubles of_group(scores.begin() + static_cast<std::ptrdiff_t>(3 * g),
                         scores.begin() + static_cast<std::ptrdiff_t>(3 * g + 3));
        std::ranges::sort(of_group, std::greater());
        groups.push_back(router == "sigmoid" ? of_group[0] + of_group[1] : of_group[0]);
      }
      const auto kept = highest(groups, 2);
      for (std::size_t e = 0; e < 12; ++e) {
        if (std::ranges::find(kept, e / 3) == kept.end()) scores[e] = -INFINITY;
      }
      const auto experts = highest(scores, 3);
      changed += experts != free;
      const Routing routing{
          .router = router, .experts = 12, .chosen = 3, .groups = 4, .chosen_groups = 2, .normalised = false};
      expect_choices(chosen_by(routing, logits), experts, expected_weights(experts, scores, 1.0, 1.0));
    }
  }
  EXPECT_GT(changed, 10);
}

TEST(Router, SigmoidOfChosenIsOfEachByItself) {
  const std::vector<float> logits = {-3.0f, 0.5f, 2.0f, 1.0f};
  const Routing routing{.router = "sigmoid_of_chosen", .experts = 4, .chosen = 2, .normalised = false};
  expect_choices(chosen_by(routing, logits), {2, 3}, {1.0 / (1.0 + std::exp(-2.0)), 1.0 / (1.0 + std::exp(-1.0))});
}

TEST(Router, SparsemixerWeighsAmongNeighbours) {
  // Within 2 * 0.25 of the highest, measured by the greater of it and their own magnitude.
  const std::vector<float> logits = {2.0f, 1.2f, 0.9f, -1.0f, 4.0f};
  const auto e = [](double x) { return std::exp(x); };
  const Routing routing{.router = "sparsemixer", .experts = 5, .chosen = 2, .jitter = 0.25f};
  expect_choices(chosen_by(routing, logits), {4, 0}, {e(4) / (e(4) + e(2)), e(2) / (e(2) + e(1.2))});
  // Of a highest that is below 0 their own magnitude counts.
  const std::vector<float> low = {-1.0f, -1.5f, -4.0f};
  const Routing one{.router = "sparsemixer", .experts = 3, .chosen = 1, .jitter = 0.2f};
  expect_choices(chosen_by(one, low), {0}, {e(-1) / (e(-1) + e(-1.5))});
}

TEST(Router, AllChooseDifferentExpertsAndTheLowerOfEqualOnes) {
  for (const Router& router : all_routers()) {
    const Routing routing{.router = router.name, .experts = 8, .chosen = 5, .jitter = 0.01f};
    std::vector<float> equal(8, 0.25f);
    equal[6] = 1.0f;
    std::vector<std::int32_t> experts;
    for (const Choice& choice : chosen_by(routing, equal)) experts.push_back(choice.expert);
    EXPECT_EQ(experts, (std::vector<std::int32_t>{6, 0, 1, 2, 3})) << router.name;
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::set<std::int32_t> different;
      for (const Choice& choice : chosen_by(routing, random_logits(8, seed, 60.0f))) {
        different.insert(choice.expert);
        EXPECT_TRUE(std::isfinite(choice.weight)) << router.name;
      }
      EXPECT_EQ(different.size(), 5u) << router.name;
    }
  }
}

TEST(Router, WhatIsNoNumberMakesWeightsNone) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  for (const Router& router : all_routers()) {
    const Routing routing{.router = router.name, .experts = 6, .chosen = 2};
    for (const float bad : {kNaN, kInfinity, -kInfinity}) {
      std::vector<float> logits = random_logits(6, 1), bias(6, 0.0f);
      logits[4] = bad;
      const auto of_logits = chosen_by(routing, logits);
      bias[3] = bad;
      const auto of_bias = chosen_by(routing, random_logits(6, 1), bias);
      for (const auto& choices : {of_logits, of_bias}) {
        for (std::int32_t j = 0; j < 2; ++j) {
          EXPECT_EQ(choices[static_cast<std::size_t>(j)].expert, j) << router.name;
          EXPECT_TRUE(std::isnan(choices[static_cast<std::size_t>(j)].weight)) << router.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace::backend
