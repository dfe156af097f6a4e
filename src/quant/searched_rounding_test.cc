// The search for scales: nearer than the formats' own rules, weighed by importance, and the same wherever it runs.

#include "quant/searched_rounding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "quant/group_format.h"

namespace millrace::quant {
namespace {

const char* const kSearched[] = {"q4_0",  "q4_1",    "q5_0",     "q5_1",       "q4_k",      "q5_k",     "q6_k",
                                 "mxfp4", "nf4_g64", "int4_g32", "int4_g128z", "int4_g64m", "int3_g64m"};

std::vector<float> normal_values(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(n);
  for (float& v : out) v = normal(random);
  return out;
}

double error_of(const std::vector<float>& x, const std::vector<float>& y, const std::vector<float>& weights = {}) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += (weights.empty() ? 1.0 : weights[i]) * std::pow(static_cast<double>(x[i]) - y[i], 2);
  }
  return sum;
}

std::vector<float> searched(const QuantFormat& format, const std::vector<float>& x, const std::vector<float>& weights) {
  std::vector<std::byte> blocks(format.row_bytes(std::ssize(x)));
  std::vector<float> out(x.size());
  pack_searched(format, x, weights, blocks.data());
  format.unpack(blocks.data(), out);
  return out;
}

class SearchedRounding : public testing::TestWithParam<const char*> {
 protected:
  const QuantFormat& format() const { return *find_any_format(GetParam()); }
};

TEST_P(SearchedRounding, ComesNearerThanTheFormatsOwnRule) {
  const std::vector<float> x = normal_values(4096, 3);
  std::vector<std::byte> blocks(format().row_bytes(std::ssize(x)));
  std::vector<float> plain(x.size());
  format().pack(x, blocks.data());
  format().unpack(blocks.data(), plain);
  EXPECT_LT(error_of(x, searched(format(), x, {})), 0.97 * error_of(x, plain));
}

TEST_P(SearchedRounding, ImportanceMovesTheErrorToWhereItCountsLess) {
  const std::vector<float> x = normal_values(4096, 5);
  std::vector<float> importance(x.size(), 1.0f);
  for (std::size_t i = 0; i < importance.size(); i += 8) importance[i] = 100.0f;
  const double weighed = error_of(x, searched(format(), x, importance), importance);
  EXPECT_LT(weighed, 0.98 * error_of(x, searched(format(), x, {}), importance));
}

TEST_P(SearchedRounding, OnlyTheProportionsOfImportanceCount) {
  const std::vector<float> x = normal_values(1024, 6);
  std::vector<float> importance = normal_values(x.size(), 7), same(x.size(), 0.0f);
  for (float& v : importance) v = v * v;
  std::vector<float> doubled = importance;
  for (float& v : doubled) v *= 4.0f;
  EXPECT_EQ(searched(format(), x, importance), searched(format(), x, doubled));
  EXPECT_EQ(searched(format(), x, same), searched(format(), x, {})) << "a column that saw nothing";
}

// Values that a search could trip over: none, one, equal, tiny, huge, far apart.
TEST_P(SearchedRounding, KeepsToItsBoundForOddBlocks) {
  const auto n = static_cast<std::size_t>(format().block_values);
  std::vector<std::vector<float>> blocks(7, std::vector<float>(n, 0.0f));
  blocks[1][3] = -2.5f;
  std::ranges::fill(blocks[2], 0.75f);
  std::ranges::fill(blocks[3], -0.75f);
  for (std::size_t i = 0; i < n; ++i) blocks[4][i] = (i % 2 == 0 ? 1e-30f : -1e-41f);
  for (std::size_t i = 0; i < n; ++i) blocks[5][i] = 3000.0f * static_cast<float>(i % 5);
  for (std::size_t i = 0; i < n; ++i) blocks[6][i] = i == 0 ? 100.0f : 1e-3f;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::vector<float> out = searched(format(), blocks[b], {});
    double length = 0.0;
    for (const float v : blocks[b]) length += static_cast<double>(v) * v;
    EXPECT_LE(error_of(blocks[b], out), 0.05 * length + 1e-12) << "block " << b;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SearchedRounding, testing::ValuesIn(kSearched),
                         [](const auto& format) { return std::string(format.param); });

TEST(SearchedRounding, OtherFormatsArePackedAsEver) {
  const std::vector<float> x = normal_values(256, 9);
  for (const char* name : {"q8_0", "f16", "bf16", "e4m3_g128", "int8_g128"}) {
    const QuantFormat& format = *find_any_format(name);
    std::vector<std::byte> own(format.row_bytes(std::ssize(x))), blocks(own.size());
    format.pack(x, own.data());
    pack_searched(format, x, {}, blocks.data());
    EXPECT_EQ(own, blocks) << name;
  }
}

}  // namespace
}  // namespace millrace::quant
